// Every word of the window, in one place. Short, present tense, "you" and "we" (we is the app); see the design reference,
// section 13. Sentences are whole: nothing is built from parts, so that a language with another order can be added.

import { charts } from "./words/charts";
import { review } from "./words/review";
import { setup } from "./words/setup";
import { views } from "./words/views";

export const w = { ...charts, ...review, ...views, ...setup } as const;
