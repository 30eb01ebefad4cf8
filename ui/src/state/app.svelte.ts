// What the window knows: where it is, what it heard from the engine, what it says aloud. Truth stays in the ledger.

import { tick as settled } from "svelte";
import { type Backend, type View, backend, errorOf } from "../backend";
import type { ActionDoc } from "../bindings/ActionDoc";
import type { ErrorDoc } from "../bindings/ErrorDoc";
import type { FeedEvent } from "../bindings/FeedEvent";
import type { NewsDoc } from "../bindings/NewsDoc";
import type { NotTakenRow } from "../bindings/NotTakenRow";
import type { Overview } from "../bindings/Overview";
import { spokenKey } from "../keys";
import { sentences } from "../lib/news";
import { isHeld, isScheduled, secondsLeft, setHolds } from "../lib/standing";
import { type Trouble, saidTrouble, troubleOf } from "../lib/trouble";
import { millis, moment } from "../lib/time";
import { w } from "../words";
import { type Choice, isChoice, language } from "../words/language.svelte";
import { ActionList } from "./lists.svelte";

export type Screen = View | "action" | "edit" | "revise" | "insights" | "destinations" | "sources" | "settings";
export type Theme = "system" | "light" | "dark";
export type Route = { screen: Screen; id: string | null };
export type Toast = { icon: string; family: string; text: string; held?: string; open?: string; undo?: string };

const names: Record<string, Screen> = {
  awaiting: "awaiting",
  "on-the-way": "on_the_way",
  unknown: "unknown",
  "needs-review": "needs_review",
  history: "history",
  action: "action",
  edit: "edit",
  revise: "revise",
  insights: "insights",
  destinations: "destinations",
  sources: "sources",
  settings: "settings",
};

export function address(screen: Screen, id: string | null = null): string {
  const name = Object.keys(names).find((n) => names[n] === screen) ?? "awaiting";
  return `#/${name}${id ? `/${encodeURIComponent(id)}` : ""}`;
}

function routeOf(hash: string): Route {
  const [, name = "", id = ""] = hash.split("/");
  return { screen: names[name] ?? "awaiting", id: id ? decodeURIComponent(id) : null };
}

function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // A window without storage keeps working; it only forgets a preference.
  }
}

/** Root sizes in px; above 20 the whole window is zoomed, so that what is drawn grows with the text. */
export const textSizes: readonly number[] = [15, 16, 17.5, 19, 20, 24, 32];
const zoomOf = (size: number): number => (size > 20 ? size / 16 : 1);

class App {
  engine!: Backend;
  overview = $state.raw<Overview | null>(null);
  failure = $state.raw<ErrorDoc | null>(null);
  route = $state.raw<Route>(routeOf(location.hash));
  /** Engine time minus this computer's, so that a countdown ends when the engine's does. */
  #drift = 0;
  now = $state(Date.now());
  /** Finer, and only while something is held. */
  tick = $state(Date.now());
  polite = $state("");
  assertive = $state("");
  toast = $state.raw<Toast | null>(null);
  help = $state(false);
  unlocking = $state(false);
  /** `any`: choose a kind first; or a kind. */
  adding = $state("");
  stopping = $state(false);
  /** The action whose every form is looked at. */
  raw = $state.raw<ActionDoc | null>(null);
  /** How many approved actions are held while somebody wants to quit; null: nobody is asked. */
  quitting = $state<number | null>(null);
  /** How many approved actions wait for a time of their own, as far as the first page tells. */
  later = $state(0);
  /** Said beside the approval bar when an approval came to nothing. */
  barMessage = $state("");
  /** Words typed into a dialog that was left: they are there again when it is opened again. */
  typed: Record<string, string> = {};
  busy = $state(false);
  focusView = $state(false);
  /** The action in front of the person; a toast is only for what is out of view. */
  onScreen = $state<string | null>(null);
  sideHidden = $state(stored("sidebar") === "hidden");
  singles = $state(stored("single-keys") !== "off");
  theme = $state<Theme>((stored("theme") || "system") as Theme);
  size = $state(Number.parseFloat(stored("text-size") ?? "16") || 16);
  lockMinutes = $state(Number.parseInt(stored("lock-minutes") ?? "0", 10) || 0);
  palette = $state(false);
  #idle: ReturnType<typeof setTimeout> | undefined;
  held = $state.raw<ActionDoc[]>([]);
  notTaken = $state.raw<NotTakenRow[]>([]);
  opened = $state.raw<ReadonlySet<string>>(new Set(JSON.parse(stored("opened") ?? "[]") as string[]));
  lists: Record<View, ActionList> = {
    awaiting: new ActionList("awaiting"),
    on_the_way: new ActionList("on_the_way"),
    unknown: new ActionList("unknown"),
    needs_review: new ActionList("needs_review"),
    history: new ActionList("history"),
  };
  /** What each view had chosen, by request. */
  chosen = $state<Partial<Record<Screen, string>>>({});
  #watchers = new Set<(event: FeedEvent) => void>();
  #pending: FeedEvent[] = [];
  #drain = false;
  #toastTimer: ReturnType<typeof setTimeout> | undefined;
  #said = new Set<string>();
  #cameFrom: string | null = null;

  get owner(): string {
    return this.overview?.owner ?? "";
  }

  async start(): Promise<void> {
    this.engine = await backend();
    for (const list of Object.values(this.lists)) list.engine = this.engine;
    if (zoomOf(this.size) !== 1) this.setTextSize(this.size);
    window.addEventListener("hashchange", () => this.#moved());
    try {
      this.take(await this.engine.overview());
    } catch (thrown) {
      this.failure = errorOf(thrown);
    }
    void this.engine.onFeed((event) => this.#heard(event));
    void this.engine.onOpen((id) => this.focus(id));
    void this.engine.onQuit((held, soon) => void this.#askToQuit(held, soon));
    void this.engine.onGo((screen) => {
      if (!Object.values(names).includes(screen as Screen)) return;
      this.go(screen as Screen);
      void this.focusHeading();
    });
    for (const event of ["keydown", "pointerdown"]) window.addEventListener(event, () => this.touched(), { capture: true, passive: true });
    this.touched();
    setInterval(() => (this.now = Date.now() + this.#drift), 15_000);
  }

  /** `soon`: how many go at a time within a day, of every workspace. */
  async #askToQuit(held: number, soon: number): Promise<void> {
    const page = await this.engine.list("on_the_way", null, null, 100).catch(() => null);
    this.later = Math.max(soon, page?.actions.filter((row) => isScheduled(row, this.now)).length ?? 0);
    this.quitting = held + this.later > 0 ? held : null;
  }

  #trouble: Trouble | null = null;
  take(overview: Overview): void {
    const changed = this.overview !== null && this.overview.environment !== overview.environment;
    this.overview = overview;
    this.#drift = millis(overview.now) - Date.now();
    this.now = Date.now() + this.#drift;
    this.tick = this.now;
    setHolds(overview.destinations);
    const trouble = troubleOf(overview, this.now);
    const said = saidTrouble(this.#trouble, trouble);
    this.#trouble = trouble;
    if (said) this.say(said);
    if (changed) for (const list of Object.values(this.lists)) list.clear();
  }

  #moved(): void {
    const before = address(this.route.screen, this.route.id);
    this.route = routeOf(location.hash);
    this.barMessage = "";
    if (address(this.route.screen, this.route.id) !== before) this.#cameFrom = before;
  }

  go(screen: Screen, id: string | null = null, replace = false): void {
    const to = address(screen, id);
    if (to === location.hash) return;
    if (replace) {
      history.replaceState(null, "", to);
      this.route = routeOf(to);
    } else {
      // Neither call fires hashchange: the screen changes now, so that the focus can follow at once.
      history.pushState(null, "", to);
      this.#moved();
    }
  }

  /** One level out. */
  out(): void {
    const { screen, id } = this.route;
    if (screen === "action" || screen === "edit" || screen === "revise") {
      const from = this.#cameFrom && !/^#\/(action|edit|revise)/.test(this.#cameFrom) ? routeOf(this.#cameFrom) : null;
      if (from) this.go(from.screen, from.id);
      else this.go(screen === "action" ? "history" : "awaiting", screen === "edit" ? id : null);
      void this.focusHeading();
    } else if (this.focusView) this.focusView = false;
  }

  /** A notification was clicked: show that action. It never decides anything. */
  focus(id: string): void {
    void this.engine
      .action(id)
      .then((doc) => {
        this.go(homeOf(doc), id);
        void this.focusHeading();
      })
      .catch((thrown: unknown) => this.say(errorOf(thrown).message));
  }

  focusHeading(): Promise<void> {
    return this.focusOn("[data-pane] [data-heading]");
  }

  /** Moves the focus to what is about to be drawn; a document may still be on its way. */
  async focusOn(selector: string): Promise<void> {
    await settled();
    for (let frame = 0; frame < 60; frame++) {
      await new Promise((done) => requestAnimationFrame(done));
      const wanted = document.querySelector<HTMLElement>(selector);
      if (!wanted) continue;
      if (document.querySelector("dialog[open]") === null) wanted.focus();
      return;
    }
  }

  /** Beside the approval bar, and said once. */
  tellBar(text: string): void {
    if (text && text !== this.barMessage) this.say(text);
    this.barMessage = text;
  }

  #toldOf: string[] = [];
  /** Whether this standing of an action was said already: what a person did is told by its command and by the feed. */
  #toldBefore(doc: ActionDoc): boolean {
    const key = `${doc.id} ${doc.state} ${doc.approvals.length} ${doc.attempts.length}`;
    if (this.#toldOf.includes(key)) return true;
    this.#toldOf = [...this.#toldOf, key].slice(-200);
    return false;
  }

  /** What became of an action by what the person just did, unless the feed was faster. */
  sayOf(doc: ActionDoc, text: string): void {
    if (!this.#toldBefore(doc)) this.say(text);
  }

  #toSay: string[] = [];
  say(text: string): void {
    // The same sentence twice in a row is a new announcement: an empty region in between makes it one.
    this.polite = "";
    this.#toSay.push(text);
    if (this.#toSay.length > 1) return;
    // What is said in one turn is said together: the second sentence would take the place of the first unheard.
    setTimeout(() => {
      this.polite = [...new Set(this.#toSay)].join(" ");
      this.#toSay = [];
    });
  }

  alarm(text: string): void {
    this.assertive = "";
    void settled().then(() => (this.assertive = text));
  }

  notify(toast: Toast, ms = 6000): void {
    this.toast = toast;
    clearTimeout(this.#toastTimer);
    if (ms) this.#toastTimer = setTimeout(() => (this.toast = null), ms);
  }

  onFeed(watch: (event: FeedEvent) => void): () => void {
    this.#watchers.add(watch);
    return () => this.#watchers.delete(watch);
  }

  #heard(event: FeedEvent): void {
    this.#pending.push(event);
    if (event.news.length) void this.#tell(event.news);
    if (!this.#drain) {
      this.#drain = true;
      queueMicrotask(() => void this.#read());
    }
  }

  /** Says what became of actions. One that cannot be read is left out: the lists show it. */
  async #tell(news: NewsDoc[]): Promise<void> {
    const ids = [...new Set(news.map((one) => one.action))];
    const docs = await Promise.all(ids.map((id) => this.engine.action(id).catch(() => null)));
    const known = new Map(docs.flatMap((doc) => (doc ? [[doc.id, doc] as const] : [])));
    const fresh = news.filter((one) => {
      const doc = known.get(one.action);
      return one.what === "draft_waiting" || (doc !== undefined && !this.#toldBefore(doc));
    });
    const said = sentences(fresh, known, this.now, this.owner);
    if (said.length) this.say(said.join(" "));
  }

  /** Reads again only what moved: the counts, the lists that were looked at, the documents on screen. */
  async #read(): Promise<void> {
    const events = this.#pending;
    this.#pending = [];
    this.#drain = false;
    const ids = [...new Set(events.flatMap((e) => e.actions))];
    const last = events[events.length - 1] as FeedEvent;
    const all: FeedEvent = { seq: last.seq, actions: ids, news: [] };
    for (const watch of this.#watchers) watch(all);
    for (const list of Object.values(this.lists)) void list.refresh(ids, list.view === this.route.screen);
    try {
      this.take(await this.engine.overview());
      for (const doc of this.held) if (ids.includes(doc.id)) this.keepHeld(await this.engine.action(doc.id));
    } catch (thrown) {
      this.failure = errorOf(thrown);
    }
  }

  keepHeld(doc: ActionDoc): void {
    const rest = this.held.filter((x) => x.id !== doc.id);
    const clockNow = Date.now() + this.#drift;
    this.held = isHeld(doc, clockNow) ? [...rest, doc] : rest;
    if (!this.held.some((x) => x.id === doc.id) && this.toast?.held === doc.id) this.toast = null;
    if (this.held.length) this.#beat();
  }

  #beating = false;
  #beat(): void {
    if (this.#beating) return;
    this.#beating = true;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = () => {
      this.tick = Date.now() + this.#drift;
      for (const doc of this.held) {
        const left = secondsLeft(doc, this.tick);
        if (left <= 5 && left > 0 && !this.#said.has(doc.id)) {
          this.#said.add(doc.id);
          this.alarm(w.saidFive(spokenKey("undo")));
        }
      }
      if (this.held.some((doc) => !isHeld(doc, this.tick))) {
        for (const doc of this.held) if (!isHeld(doc, this.tick) && this.toast?.held === doc.id) this.toast = null;
        this.held = this.held.filter((doc) => isHeld(doc, this.tick));
      }
      if (!this.held.length) {
        this.#beating = false;
        return;
      }
      setTimeout(step, still ? 500 : 100);
    };
    step();
  }

  announceHold(doc: ActionDoc): void {
    this.#said.delete(doc.id);
    const given = doc.approvals.filter((a) => a.counts).at(-1);
    const seconds = given && doc.next?.at ? Math.round((millis(doc.next.at) - millis(given.at)) / 1000) : secondsLeft(doc, Date.now() + this.#drift);
    if (isHeld(doc, Date.now() + this.#drift)) this.alarm(w.saidApproved(seconds, spokenKey("undo")));
    else if (doc.next?.what === "scheduled" && doc.next.at) this.say(w.saidScheduled(moment(doc.next.at, this.now)));
    else this.say(w.saidApprovedNow);
  }

  markOpened(id: string): void {
    if (this.opened.has(id)) return;
    this.opened = new Set([...this.opened, id].slice(-2000));
    store("opened", JSON.stringify([...this.opened]));
  }

  /** Runs a command; an error becomes a sentence, and a locked key opens the unlock dialog. */
  async run<T>(command: () => Promise<T>): Promise<T | null> {
    try {
      return await command();
    } catch (thrown) {
      const error = errorOf(thrown);
      if (error.code === "locked") this.unlocking = true;
      else this.notify({ icon: "s-review", family: "plum", text: error.message }, 9000);
      this.say(error.message);
      return null;
    }
  }

  /** The language that was chosen, or the system's; and when the system changes its own. */
  async speak(): Promise<void> {
    const choice = stored("language");
    window.addEventListener("languagechange", () => void language.choose(language.choice));
    await language.choose(isChoice(choice) ? choice : "system");
  }

  async setLanguage(choice: Choice): Promise<void> {
    store("language", choice);
    await language.choose(choice);
    this.say(w.saidLanguage);
  }

  async switchTo(environment: string): Promise<void> {
    const overview = await this.run(() => this.engine.setEnvironment(environment));
    if (!overview) return;
    this.chosen = {};
    this.held = [];
    this.take(overview);
    this.go("awaiting");
  }

  async sending(on: boolean): Promise<void> {
    const overview = await this.run(() => this.engine.sending(on));
    if (overview) this.take(overview);
  }

  async lock(): Promise<void> {
    const overview = await this.run(() => this.engine.lock());
    if (overview) this.take(overview);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    const dark = theme === "dark" || (theme === "system" && window.matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    store("theme", theme === "system" ? "" : theme);
  }

  toggleTheme(): void {
    this.setTheme(document.documentElement.dataset["theme"] === "dark" ? "light" : "dark");
  }

  setTextSize(size: number): void {
    this.size = size;
    document.documentElement.style.fontSize = zoomOf(size) === 1 ? `${size}px` : "16px";
    void this.engine.zoom(zoomOf(size)).catch((thrown: unknown) => this.say(errorOf(thrown).message));
    store("text-size", String(size));
  }

  textSize(step: 1 | -1): void {
    const at = Math.max(0, textSizes.indexOf(this.size));
    this.setTextSize(textSizes[Math.min(textSizes.length - 1, Math.max(0, at + step))] as number);
  }

  setLockMinutes(minutes: number): void {
    this.lockMinutes = minutes;
    store("lock-minutes", String(minutes));
    this.touched();
  }

  /** A key or a click: the time after which the key locks by itself begins again. */
  touched(): void {
    clearTimeout(this.#idle);
    if (this.lockMinutes > 0) this.#idle = setTimeout(() => void this.#lockIdle(), this.lockMinutes * 60_000);
  }

  async #lockIdle(): Promise<void> {
    if (this.overview && this.overview.home_exists && !this.overview.locked) await this.lock();
  }

  toggleSide(): void {
    const inside = document.activeElement?.closest("[data-region=sidebar]") !== null;
    this.sideHidden = !this.sideHidden;
    if (this.sideHidden && inside) void this.focusHeading();
    store("sidebar", this.sideHidden ? "hidden" : "shown");
  }

  toggleSingles(): void {
    this.singles = !this.singles;
    store("single-keys", this.singles ? "on" : "off");
  }
}

/** The one Work view an action lives in, or its record. */
export function homeOf(doc: ActionDoc): Screen {
  switch (doc.state) {
    case "prepared":
      return "awaiting";
    case "approved":
    case "in_progress":
      return "on_the_way";
    case "unknown":
    case "closed_unknown":
      return "unknown";
    case "needs_review":
      return "needs_review";
    case "refused":
    case "gave_up":
      return doc.revised ? "action" : "needs_review";
    default:
      return "action";
  }
}

export const app = new App();
