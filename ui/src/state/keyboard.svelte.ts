// From key presses to what the open screen does with them. The table is keys.ts; screens only say what each command does.

import { type Key, KeyReader, type KeyId, type Place, keys } from "../keys";
import { app } from "./app.svelte";

type Handlers = Partial<Record<KeyId, (event: KeyboardEvent) => void | boolean>>;
/** Something a screen offers in the palette by a name of its own. */
export type Named = { label: string; icon: string; run: () => void };
type Layer = { places: readonly Place[]; handlers: Handlers; named: () => readonly Named[] };

const layers: Layer[] = [];
const reader = new KeyReader();

/** Inside `$effect`: these places are on screen and these commands have a meaning. */
export function offer(places: readonly Place[], handlers: Handlers, named: () => readonly Named[] = () => []): () => void {
  const layer = { places, handlers, named };
  layers.push(layer);
  return () => {
    layers.splice(layers.indexOf(layer), 1);
  };
}

// Approving is given at the bar and nowhere else; moving between rows and closing are no commands one looks for.
const never = new Set<KeyId>(["approve", "approveAll", "approveVersion", "palette", "out", "open", "next", "previous", "nextArea", "previousArea"]);

/** What the screen offers now, for the palette: every key that has a meaning here, topmost layer first. */
export function commands(): { key: Key; run: () => void }[] {
  const places = new Set<Place>(layers.flatMap((layer) => layer.places));
  const out: { key: Key; run: () => void }[] = [];
  for (const key of keys as readonly Key[]) {
    if (never.has(key.id as KeyId) || !key.where.some((place) => place === "anywhere" || places.has(place))) continue;
    const layer = layers.findLast((one) => one.handlers[key.id as KeyId]);
    const run = layer?.handlers[key.id as KeyId];
    if (run) out.push({ key, run: () => void run(new KeyboardEvent("keydown")) });
  }
  return out;
}

/** What has a name of its own here, and no key. */
export function named(): readonly Named[] {
  return layers.flatMap((layer) => layer.named());
}

function target(event: KeyboardEvent): { text: boolean; draft: boolean } {
  const element = event.target instanceof HTMLElement ? event.target : null;
  const text = element?.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]") ?? false;
  return { text, draft: text && element?.closest("[data-draft]") !== null };
}

/** The areas in the order of the page. F6 goes round them. */
function area(step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter((x) => x.offsetParent !== null || x.getClientRects().length > 0);
  if (!all.length) return;
  const inside = all.filter((x) => x.contains(document.activeElement));
  const at = inside.length ? all.indexOf(inside[inside.length - 1] as HTMLElement) : step === 1 ? -1 : 0;
  const to = all[(at + step + all.length) % all.length] as HTMLElement;
  const first = to.querySelector<HTMLElement>("[data-region-focus]") ?? to.querySelector<HTMLElement>("[data-heading], .scroll[tabindex], [data-do=approve], a[href], button, [tabindex]");
  (first ?? to).focus();
}

export function keydown(event: KeyboardEvent): void {
  // A modal dialog has its own keys; the window below it is inert.
  const modal = document.querySelector("dialog[open]") !== null;
  reader.singles = app.singles;
  const places = new Set<Place>(modal ? [] : layers.flatMap((layer) => layer.places));
  const id = reader.read(event, target(event), places, performance.now());
  if (!id) return;
  if (modal && !["theme", "larger", "smaller"].includes(id)) return;
  if (id === "nextArea" || id === "previousArea") {
    event.preventDefault();
    area(id === "nextArea" ? 1 : -1);
    return;
  }
  // Enter and the arrows belong to whatever control has the focus, if it is not the list.
  const element = event.target instanceof HTMLElement ? event.target : document.body;
  if ((id === "open" || event.key.startsWith("Arrow")) && element !== document.body && !element.matches("[role=listbox]")) return;
  for (let i = layers.length - 1; i >= 0; i--) {
    const run = layers[i]?.handlers[id];
    if (!run) continue;
    event.preventDefault();
    run(event);
    return;
  }
}
