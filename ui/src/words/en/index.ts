// English is the source: its keys and the shape of each entry are what every other language has to have. Sentences are
// whole, in ICU MessageFormat: nothing is built from parts, so that a language with another order can be added.

import { charts } from "./charts";
import { keys } from "./keys";
import { review } from "./review";
import { setup } from "./setup";
import { views } from "./views";
import { writing } from "./writing";

export const en = { ...charts, ...keys, ...review, ...setup, ...views, ...writing } as const;
