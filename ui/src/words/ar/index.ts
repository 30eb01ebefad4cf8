// Arabic. One word for each of the protocol's terms, everywhere:
//
//   action           إجراء               attempt        محاولة            receipt      إيصال
//   approve          الموافقة            approval       موافقة            fingerprint  بصمة
//   put back         سحب الموافقة        hold, held     مهلة              key          مفتاح
//   source           مصدر                destination    وجهة              ledger       دفتر القيود
//   request          طلب                 draft          مسودة             proposal     اقتراح
//   accepted         مقبول               refused        غير مقبول         rejected     مرفوض
//   unknown          غير معروف           settled        محسوم             gave up      متروك
//   superseded       مستبدَل             needs review   تحتاج مراجعة      hand over    تسليم
//   look up, ask     بحث، سؤال           proof          دليل              finding      تحقّق
//   revise           إعادة الصياغة       sandbox        بيئة التجربة      record       ملف
//
// The digits are those of order numbers and fingerprints (see localeOf). Values are isolated when a sentence is made.

import type { Catalogue } from "../shape";
import { charts } from "./charts";
import { keys } from "./keys";
import { review } from "./review";
import { setup } from "./setup";
import { views } from "./views";
import { writing } from "./writing";

export const ar: Catalogue = { ...charts, ...keys, ...review, ...setup, ...views, ...writing };
