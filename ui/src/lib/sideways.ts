import { language } from "../words/language.svelte";

/** The step an arrow key means in a row of controls: to the next one along the direction of reading, or back; else 0. */
export function sideways(key: string): -1 | 0 | 1 {
  if (key !== "ArrowRight" && key !== "ArrowLeft") return 0;
  return (key === "ArrowRight") === (language.direction === "ltr") ? 1 : -1;
}
