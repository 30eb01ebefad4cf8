// What another language has to have: every entry of the English one, and none besides.

import type { en } from "./en";

export type Like<T> = T extends string ? string : { readonly [K in keyof T]: Like<T[K]> };
export type Catalogue = Like<typeof en>;
