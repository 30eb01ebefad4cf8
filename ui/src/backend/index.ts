// Everything the window can ask of the engine: one function per command. Only tauri.ts knows how it travels.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { ActionPage } from "../bindings/ActionPage";
import type { ApproveOne } from "../bindings/ApproveOne";
import type { ApprovedOne } from "../bindings/ApprovedOne";
import type { DesktopDoc } from "../bindings/DesktopDoc";
import type { DestinationForm } from "../bindings/DestinationForm";
import type { DestinationRow } from "../bindings/DestinationRow";
import type { DestinationTest } from "../bindings/DestinationTest";
import type { ErrorDoc } from "../bindings/ErrorDoc";
import type { FeedEvent } from "../bindings/FeedEvent";
import type { FileDoc } from "../bindings/FileDoc";
import type { FindingDoc } from "../bindings/FindingDoc";
import type { InsightsDoc } from "../bindings/InsightsDoc";
import type { KindDoc } from "../bindings/KindDoc";
import type { NewOutcomeHook } from "../bindings/NewOutcomeHook";
import type { NewSource } from "../bindings/NewSource";
import type { NotTakenRow } from "../bindings/NotTakenRow";
import type { OutcomeHookDoc } from "../bindings/OutcomeHookDoc";
import type { Overview } from "../bindings/Overview";
import type { Preferences } from "../bindings/Preferences";
import type { ProbeStep } from "../bindings/ProbeStep";
import type { PurgedDoc } from "../bindings/PurgedDoc";
import type { SearchFilters } from "../bindings/SearchFilters";
import type { SnippetDoc } from "../bindings/SnippetDoc";
import type { SourceRow } from "../bindings/SourceRow";
import type { TallyDoc } from "../bindings/TallyDoc";
import type { WireDoc } from "../bindings/WireDoc";

export type View = "awaiting" | "on_the_way" | "unknown" | "needs_review" | "history";
export type Filters = SearchFilters;
export type Verdict = "happened" | "did_not_happen" | "leave";
export type Unlisten = () => void;

export interface Backend {
  overview(): Promise<Overview>;
  setEnvironment(environment: string): Promise<Overview>;
  /** With a passphrase the secrets go into the encrypted file instead of the system's key store. */
  firstRun(owner: string, sandbox: boolean, passphrase: string | null): Promise<Overview>;
  /** Where that file would be. */
  secretsFile(): Promise<string>;
  list(view: View, state: string | null, after: string | null, limit: number): Promise<ActionPage>;
  notTaken(): Promise<NotTakenRow[]>;
  search(text: string, filters: Filters, after: string | null): Promise<ActionPage>;
  /** What History holds, counted in bins that begin at each of `starts` (milliseconds since 1970). */
  tally(starts: number[], destination: string): Promise<TallyDoc>;
  insights(starts: number[]): Promise<InsightsDoc>;
  /** The bytes that an approval covers, or how the current version would be rendered now. */
  wire(id: string): Promise<WireDoc>;
  action(id: string): Promise<ActionDoc>;
  bundle(id: string): Promise<ActionDoc[]>;
  fingerprint(id: string, payload: unknown): Promise<{ payload_hash: string }>;
  findings(id: string, payload: unknown): Promise<FindingDoc[]>;
  clearFinding(id: string, code: string, field: string): Promise<ActionDoc>;
  edit(id: string, replaces: number, payload: unknown): Promise<ActionDoc>;
  approve(id: string, payloadHash: string): Promise<ActionDoc>;
  /** Each a decision of its own: one that cannot be approved says why and changes nothing about the others. */
  approveEach(actions: ApproveOne[]): Promise<ApprovedOne[]>;
  reject(id: string, reason: string): Promise<ActionDoc>;
  undo(id: string): Promise<ActionDoc>;
  sendNow(id: string): Promise<ActionDoc>;
  release(id: string): Promise<ActionDoc>;
  confirm(id: string, requestId: string | null, eventId: string | null): Promise<ActionDoc>;
  askNow(id: string): Promise<ActionDoc>;
  finish(id: string): Promise<ActionDoc>;
  /** A file for an edit; the payload names it by what comes back. */
  attach(id: string, filename: string, contentType: string, base64: string): Promise<FileDoc>;
  /** Its bytes, in base64. */
  file(id: string, sha256: string): Promise<string>;
  resolve(id: string, verdict: Verdict, evidence: string): Promise<ActionDoc>;
  revise(id: string): Promise<ActionDoc>;
  fileCopy(id: string): Promise<ActionDoc>;
  keepText(id: string, text: string): Promise<void>;
  keptText(id: string): Promise<string | null>;
  destinationKinds(): Promise<KindDoc[]>;
  /** Tries it as typed; stores and sends nothing. Steps also arrive at `onProbe`. */
  probeDestination(form: DestinationForm): Promise<ProbeStep[]>;
  addDestination(form: DestinationForm): Promise<DestinationRow>;
  testDestination(name: string): Promise<DestinationTest>;
  /** Sets up what it needs beforehand, once. Steps also arrive at `onProbe`. */
  prepareDestination(name: string): Promise<ProbeStep[]>;
  setHold(name: string, seconds: number): Promise<DestinationRow>;
  setRepeats(name: string, on: boolean): Promise<DestinationRow>;
  pauseDestination(name: string, on: boolean): Promise<DestinationRow>;
  /** Another password, token or refresh token; tried first, and what waited for it goes on. */
  signInDestination(name: string, secret: string): Promise<DestinationTest>;
  sources(): Promise<SourceRow[]>;
  /** The token is in the answer and nowhere else. */
  addSource(name: string, environment: string, effects: string[], destinations: string[], signed: boolean): Promise<NewSource>;
  revokeSource(name: string): Promise<void>;
  /** Where a source is told of outcomes, and how telling it went. */
  outcomeHook(name: string): Promise<OutcomeHookDoc>;
  /** The signing secret is in the answer and nowhere else. */
  setOutcomeHook(name: string, url: string): Promise<NewOutcomeHook>;
  removeOutcomeHook(name: string): Promise<void>;
  removeDestination(name: string): Promise<void>;
  unlock(passphrase: string): Promise<Overview>;
  lock(): Promise<Overview>;
  sending(on: boolean): Promise<Overview>;
  /** Lifts a freeze; with `adopt` a ledger from a backup or another place is taken over. */
  unfreeze(adopt: boolean): Promise<Overview>;
  exportText(format: "csv" | "json"): Promise<string>;
  preferences(): Promise<Preferences>;
  setUndoSeconds(seconds: number): Promise<Preferences>;
  setExpiryHours(hours: number): Promise<Preferences>;
  testNotification(): Promise<Preferences>;
  setNotifications(on: boolean, names: boolean): Promise<Preferences>;
  setQuietHours(from: string | null, to: string | null): Promise<Preferences>;
  quietUntilTomorrow(on: boolean): Promise<Preferences>;
  /** Canned texts of the workspace, by name; each change answers with all of them. */
  snippets(): Promise<SnippetDoc[]>;
  /** `insteadOf`: the name of the one that is changed; null adds one. */
  setSnippet(insteadOf: string | null, snippet: SnippetDoc): Promise<SnippetDoc[]>;
  removeSnippet(name: string): Promise<SnippetDoc[]>;
  backUp(file: string): Promise<Preferences>;
  purge(days: number): Promise<PurgedDoc>;
  /** What the desktop does with the program: starting it with the session, and newer versions. */
  desktop(): Promise<DesktopDoc>;
  setStartAtLogin(on: boolean): Promise<DesktopDoc>;
  /** Asks for a newer version; refused where the build has no key to check one with. */
  lookForUpdate(): Promise<DesktopDoc>;
  installUpdate(): Promise<DesktopDoc>;
  /** The answer to `onQuit`. */
  quit(putBack: boolean): Promise<void>;
  /** The whole window, from 1 to 2. */
  zoom(factor: number): Promise<void>;
  uiReady(): Promise<void>;
  onFeed(tell: (event: FeedEvent) => void): Promise<Unlisten>;
  onProbe(tell: (step: ProbeStep) => void): Promise<Unlisten>;
  onOpen(tell: (id: string) => void): Promise<Unlisten>;
  /** The tray asks for one of the views. */
  onGo(tell: (screen: string) => void): Promise<Unlisten>;
  /** Somebody wants to quit while so many approved actions are held, and so many go at a time within a day. */
  onQuit(tell: (held: number, soon: number) => void): Promise<Unlisten>;
}

/** Whatever was thrown, as the error document the window shows. */
export function errorOf(thrown: unknown): ErrorDoc {
  const doc = thrown as Partial<ErrorDoc> | null;
  if (doc && typeof doc === "object" && typeof doc.code === "string" && typeof doc.message === "string") return doc as ErrorDoc;
  return { code: "internal", message: thrown instanceof Error ? thrown.message : String(thrown) };
}

let chosen: Promise<Backend> | null = null;

/** The real engine inside the window, an in-memory one in a plain browser. Only the one that is needed is loaded. */
export function backend(): Promise<Backend> {
  chosen ??= "__TAURI_INTERNALS__" in window ? import("./tauri").then((m) => m.tauri) : import("./fake").then((m) => m.makeFake());
  return chosen;
}
