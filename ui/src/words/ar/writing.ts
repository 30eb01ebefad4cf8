// Arabic: the editor, snippets and looking at files.

import type { writing as source } from "../en/writing";
import type { Like } from "../shape";

export const writing: Like<typeof source> = {
  // Parts of a message
  parts: "جزء الرسالة",
  partFormatted: "منسّق",
  partPlain: "نص فقط",
  replyFormatted: "نص الرد، منسّقًا",
  partsAgree: "الجزء النصي يقول الشيء نفسه، لبرامج البريد التي لا تعرض التنسيق. وهو يتغيّر مع ما تكتبه هنا.",
  noPlainPart: "ليس لهذه الرسالة جزء نصي. برامج البريد التي لا تعرض التنسيق تعرض كلمات هذا الجزء.",
  partsDiffer: "الجزآن يقولان شيئين مختلفين. كل مستلم يرى أحدهما، ومعظمهم يرى المنسّق.",
  textFromHtml: "كتابة الجزء النصي من المنسّق",
  htmlFromText: "كتابة الجزء المنسّق من النصي",
  htmlBeyond: "فيه {what}، وهذا لا يمكن تعديله هنا.",
  beyondPictures: "صور",
  beyondTables: "جداول",
  beyondStyles: "أنماط خاصة به",
  beyondElse: "عناصر أخرى",
  htmlSimplify: "تبسيطه وتعديله",

  // Formatting
  formatting: "التنسيق",
  linkTitle: "إلى أين تقود هذه الكلمات؟",
  linkSays: "يرى المستلم الكلمات. وإلى أين تقود مذكور تحت المسودة.",
  linkAddress: "العنوان",
  linkBad: "يلزم عنوان كامل، مثل https://brackenhall.example أو عنوان بريد.",
  linkAway: "إزالة الرابط",
  linkSet: "وضع الرابط",

  // Changes
  changesFromVersion: "{n, plural, =0 {لا تغييرات عن الإصدار {version}} one {تغيير واحد عن الإصدار {version}} two {تغييران عن الإصدار {version}} few {# تغييرات عن الإصدار {version}} many {# تغييرًا عن الإصدار {version}} other {# تغيير عن الإصدار {version}}}",
  changesFromWhat: "التغييرات عن",
  theDraft: "مسودة الذكاء الاصطناعي",
  theVersion: "الإصدار {version}",
  changeHtmlAdded: "أُضيف الجزء المنسّق",
  changeFormatting: "التنسيق",

  withChangesFrom: "مع التغييرات عن الإصدار {version}",

  // Looking at files
  fileReading: "قراءة الملف…",
  fileOther: "ما وصل ليس الملف صاحب هذه البصمة، فلا يُعرض.",
  pdfPage: "صفحة {at, number} من {of, number}",
  pdfPageOf: "{name}، صفحة {at, number}",
  pdfBefore: "الصفحة السابقة",
  pdfNext: "الصفحة التالية",
  pdfBroken: "لا يمكن قراءة ملف PDF هذا. قد يكون تالفًا: انظر إليه في مكان آخر قبل أن توافق عليه.",
  pdfLocked: "ملف PDF هذا محمي بكلمة مرور، فلا يمكن عرض صفحاته هنا.",
  pdfSlow: "رسم ملف PDF هذا يستغرق وقتًا طويلًا، فتوقفنا. انظر إليه في مكان آخر قبل أن توافق عليه.",
  pdfDrawn: "مرسوم هنا من الملف صاحب هذه البصمة. لم يُشغَّل منه شيء ولم يُجلب شيء؛ والحروف التي ليس خطها في الملف قد تبدو مختلفة أو تغيب.",

  // Snippets
  snippets: "نصوص جاهزة",
  snippetsSay: "نصوص تستعملها مرة بعد مرة، في مساحة العمل هذه. وما بين القوسين يُملأ حين تُدرج أحدها.",
  insertSnippet: "نص جاهز",
  insertIt: "إدراج",
  findSnippet: "البحث عن نص جاهز",
  noSnippets: "لا نصوص جاهزة بعد. أضف واحدًا في الإعدادات.",
  noSnippetFound: "لا نص جاهز بهذه الكلمات.",
  snippetFieldsSay: "الحقل الذي يبقى فارغًا يُعلَّم في المسودة، ويجب ملؤه قبل أن توافق.",
  snippetNamed: "نص جاهز: {name}",
  fieldFrom: "{kind}، من المحادثة",
  fieldKind: { text: "نص", number: "رقم", amount: "مبلغ", date: "تاريخ", email: "عنوان بريد" },
  fieldNumberBad: "المتوقع رقم، مثل 4471.",
  fieldAmountBad: "المتوقع مبلغ، مثل 45 € أو 10 %.",
  fieldDateBad: "المتوقع يوم، مثل 16 May أو Friday.",
  addSnippet: "إضافة نص جاهز",
  editNamed: "تعديل {name}",
  removeNamed: "إزالة {name}",
  snippetName: "الاسم",
  snippetText: "النص",
  snippetTextSays: "اكتب {place} حيث يجب ملء شيء. اسم العميل وعنوانه وأرقامه تُؤخذ من المحادثة حيث ترد فيها.",
  snippetFields: "ما يأخذه كل حقل",
  snippetSaved: "حُفظ النص الجاهز.",
  snippetRemoveSays: "المسودات التي أُدرج فيها تحتفظ بكلماته.",
  saveIt: "حفظ",

  // Places to be filled
  unfilled: "هذا الموضع ما زال يجب ملؤه",

  // متى يخرج
  sendAtSet: "حدّد وقتًا",
  sendAtLocal: "متى يخرج، كما تُظهره ساعة هناك",
  sendAtZone: "المنطقة الزمنية",
  sendAtWhich: "أيّ الساعتين؟",
  sendAtFirst: "الأولى، UTC{offset}",
  sendAtSecond: "الثانية، UTC{offset}",
  sendAtDrop: "احذف الوقت: يخرج بعد الموافقة",
  sendAtHere: "هنا {here}، وبتوقيت UTC {utc}",
  sendAtPast: "مضى هذا الوقت: يخرج حالما توافق.",
  sendAtBad: "يلزم وقت، مثل {example}.",
  sendAtNoZone: "هذه المنطقة الزمنية غير معروفة هنا.",
  sendAtGap: "لا وجود للوقت {time} في {zone}: تتغيّر الساعات عندئذٍ. اختر وقتًا آخر.",
  sendAtTwice: "تتكرر هذه الساعة مرتين في {zone}. اختر أيّهما.",
  changeTime: "وقت آخر",
  changeTimeSet: "حُدّد وقت",
  changeTimeDropped: "حُذف الوقت",
  approveLater: "وافق لوقت لاحق",
  saidScheduled: "موافَق عليه لوقت لاحق: {when}. لم يخرج شيء بعد.",
  quitLater: "{n, plural, zero {لا إجراء له وقت خاص.} one {إجراء واحد موافَق عليه له وقت خاص. يخرج عندئذٍ إن كان Countersign مفتوحًا. وإن تأخر أكثر من ربع ساعة انتظرك.} two {إجراءان موافَق عليهما لكلّ منهما وقت خاص. يخرج كلّ منهما عندئذٍ إن كان Countersign مفتوحًا. وإن تأخر أكثر من ربع ساعة انتظرك.} few {# إجراءات موافَق عليها لكلّ منها وقت خاص. يخرج كلّ منها عندئذٍ إن كان Countersign مفتوحًا. وإن تأخر أكثر من ربع ساعة انتظرك.} many {# إجراءً موافَقًا عليه لكلّ منها وقت خاص. يخرج كلّ منها عندئذٍ إن كان Countersign مفتوحًا. وإن تأخر أكثر من ربع ساعة انتظرك.} other {# إجراء موافَق عليه لكلّ منها وقت خاص. يخرج كلّ منها عندئذٍ إن كان Countersign مفتوحًا. وإن تأخر أكثر من ربع ساعة انتظرك.}}",

  // ما كان عائقًا وزال
  saidSendingOn: "الإرسال يعمل.",
  saidUnlocked: "مفتاحك مفتوح القفل.",
  saidReachable: "كل الوجهات متاحة من جديد.",
  saidSendsHere: "تخرج الإجراءات الموافَق عليها من هنا من جديد.",

  // حدّ لا تزيله علامة
  limitOpens: "{label}، لا تمكن الموافقة بعد. اقرأ حتى متى.",
  limitHolds: "{label}: لا تمكن الموافقة بعد. افتحه لتقرأ حتى متى.",

  // عمل طويل
  stopWaiting: "أوقف الانتظار",
  exportRuns: "يُكتب التصدير…",
  searchRuns: "يجري البحث…",
  backupRuns: "يُنسخ الدفتر ثم تُفحص النسخة…",
  testRuns: "يُختبر الاتصال…",
  backupLeft: "لم نعد ننتظر. قد تكتمل النسخة مع ذلك.",
};
