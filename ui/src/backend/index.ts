// Everything the window can ask of the engine: one function per command. Only tauri.ts knows how it travels.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { ActionPage } from "../bindings/ActionPage";
import type { DestinationRow } from "../bindings/DestinationRow";
import type { ErrorDoc } from "../bindings/ErrorDoc";
import type { FeedEvent } from "../bindings/FeedEvent";
import type { FindingDoc } from "../bindings/FindingDoc";
import type { MailboxForm } from "../bindings/MailboxForm";
import type { NotTakenRow } from "../bindings/NotTakenRow";
import type { Overview } from "../bindings/Overview";
import type { ProbeStep } from "../bindings/ProbeStep";
import type { SearchFilters } from "../bindings/SearchFilters";

export type View = "awaiting" | "on_the_way" | "unknown" | "needs_review" | "history";
export type Filters = SearchFilters;
export type Verdict = "happened" | "did_not_happen" | "leave";
export type Unlisten = () => void;

export interface Backend {
  overview(): Promise<Overview>;
  setEnvironment(environment: string): Promise<Overview>;
  firstRun(owner: string, sandbox: boolean): Promise<Overview>;
  list(view: View, state: string | null, after: string | null, limit: number): Promise<ActionPage>;
  notTaken(): Promise<NotTakenRow[]>;
  search(text: string, filters: Filters, after: string | null): Promise<ActionPage>;
  action(id: string): Promise<ActionDoc>;
  bundle(id: string): Promise<ActionDoc[]>;
  fingerprint(id: string, payload: unknown): Promise<{ payload_hash: string }>;
  findings(id: string, payload: unknown): Promise<FindingDoc[]>;
  clearFinding(id: string, code: string, field: string): Promise<ActionDoc>;
  edit(id: string, replaces: number, payload: unknown): Promise<ActionDoc>;
  approve(id: string, payloadHash: string): Promise<ActionDoc>;
  reject(id: string, reason: string): Promise<ActionDoc>;
  undo(id: string): Promise<ActionDoc>;
  sendNow(id: string): Promise<ActionDoc>;
  release(id: string): Promise<ActionDoc>;
  confirm(id: string, requestId: string | null, eventId: string | null): Promise<ActionDoc>;
  askNow(id: string): Promise<ActionDoc>;
  resolve(id: string, verdict: Verdict, evidence: string): Promise<ActionDoc>;
  revise(id: string): Promise<ActionDoc>;
  fileCopy(id: string): Promise<ActionDoc>;
  keepText(id: string, text: string): Promise<void>;
  keptText(id: string): Promise<string | null>;
  probeMailbox(form: MailboxForm): Promise<ProbeStep[]>;
  addMailbox(form: MailboxForm): Promise<DestinationRow>;
  removeDestination(name: string): Promise<void>;
  unlock(passphrase: string): Promise<Overview>;
  lock(): Promise<Overview>;
  sending(on: boolean): Promise<Overview>;
  exportText(format: "csv" | "json"): Promise<string>;
  uiReady(): Promise<void>;
  onFeed(tell: (event: FeedEvent) => void): Promise<Unlisten>;
  onProbe(tell: (step: ProbeStep) => void): Promise<Unlisten>;
  onOpen(tell: (id: string) => void): Promise<Unlisten>;
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
