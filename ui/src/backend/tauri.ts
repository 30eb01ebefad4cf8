// The only file that knows Tauri.

import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import type { FeedEvent } from "../bindings/FeedEvent";
import type { ProbeStep } from "../bindings/ProbeStep";
import type { Backend } from "./index";

export const tauri: Backend = {
  overview: () => invoke("overview"),
  setEnvironment: (environment) => invoke("set_environment", { environment }),
  firstRun: (owner, sandbox) => invoke("first_run", { owner, sandbox }),
  list: (view, state, after, limit) => invoke("list", { view, state, after, limit }),
  notTaken: () => invoke("not_taken"),
  search: (text, filters, after) => invoke("search", { text, filters, after }),
  action: (id) => invoke("action", { id }),
  bundle: (id) => invoke("bundle", { id }),
  fingerprint: (id, payload) => invoke("fingerprint", { id, payload }),
  findings: (id, payload) => invoke("findings", { id, payload }),
  clearFinding: (id, code, field) => invoke("clear_finding", { id, code, field }),
  edit: (id, replaces, payload) => invoke("edit", { id, replaces, payload }),
  approve: (id, payloadHash) => invoke("approve", { id, payloadHash }),
  reject: (id, reason) => invoke("reject", { id, reason }),
  undo: (id) => invoke("undo", { id }),
  sendNow: (id) => invoke("send_now", { id }),
  release: (id) => invoke("release", { id }),
  confirm: (id, requestId, eventId) => invoke("confirm", { id, requestId, eventId }),
  askNow: (id) => invoke("ask_now", { id }),
  resolve: (id, verdict, evidence) => invoke("resolve", { id, verdict, evidence }),
  revise: (id) => invoke("revise", { id }),
  fileCopy: (id) => invoke("file_copy", { id }),
  keepText: (id, text) => invoke("keep_text", { id, text }),
  keptText: (id) => invoke("kept_text", { id }),
  probeMailbox: (form) => invoke("probe_mailbox", { form }),
  addMailbox: (form) => invoke("add_mailbox", { form }),
  removeDestination: (name) => invoke("remove_destination", { name }),
  unlock: (passphrase) => invoke("unlock", { passphrase }),
  lock: () => invoke("lock"),
  sending: (on) => invoke("sending", { on }),
  exportText: (format) => invoke("export", { format }),
  uiReady: () => invoke("ui_ready"),
  onFeed: (tell) => listen<FeedEvent>("feed", (event) => tell(event.payload)),
  onProbe: (tell) => listen<ProbeStep>("probe", (event) => tell(event.payload)),
  onOpen: (tell) => listen<{ id: string }>("open", (event) => tell(event.payload.id)),
};
