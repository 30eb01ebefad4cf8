// Rows of a list as requests, and as what a list shows of them. Pure.

import type { ActionRow } from "../bindings/ActionRow";
import type { ListItem } from "../components/List.svelte";
import { w } from "../words";
import { inside, listed } from "../words/list";
import { effectIcon, effectWord, findingLabel, isHeld, isScheduled, reviewReason, secondsLeft, standing } from "./standing";
import { clock, moment } from "./time";

export type Request = { key: string; rows: ActionRow[] };

/** Actions of one request stand in one row. The key is the first action's id, so that it can be an address. */
export function requests(rows: readonly ActionRow[]): Request[] {
  const out: Request[] = [];
  const at = new Map<string, Request>();
  for (const row of rows) {
    const name = row.request_id === null ? `id ${row.id}` : `${row.source}\n${row.request_id}`;
    const before = at.get(name);
    if (before) before.rows.push(row);
    else {
      const request = { key: row.id, rows: [row] };
      at.set(name, request);
      out.push(request);
    }
  }
  for (const request of out) {
    request.rows.sort((a, b) => Number(a.id.replace(/\D/g, "")) - Number(b.id.replace(/\D/g, "")) || (a.id < b.id ? -1 : 1));
    request.key = (request.rows[0] as ActionRow).id;
  }
  return out;
}

type Context = { now: number; tick: number; owner: string; opened: ReadonlySet<string> };

function common(request: Request): ListItem {
  const head = request.rows[0] as ActionRow;
  const kinds = [...new Set(request.rows.map((row) => effectWord(row.effect)))];
  return {
    key: request.key,
    who: head.who || head.email,
    subject: head.subject,
    at: head.at,
    fresh: false,
    icons: request.rows.slice(0, 4).map((row) => effectIcon(row.effect)),
    kind: listed(kinds.map((kind, i) => (i === 0 ? kind : inside(kind)))),
    marks: [],
    chip: null,
    right: "",
    warn: null,
    group: "",
  };
}

export function awaitingItem(request: Request, context: Context): ListItem {
  const item = common(request);
  item.fresh = !context.opened.has(request.key);
  const open = request.rows.reduce((sum, row) => sum + row.findings_open, 0);
  const heavy = request.rows.find((row) => row.finding)?.finding;
  if (open > 1) item.warn = { text: w.toCheck(open), note: false };
  else if (heavy) item.warn = { text: findingLabel(heavy.code), note: false };
  return item;
}

export function movingItem(request: Request, context: Context): ListItem {
  const item = common(request);
  const marks = request.rows.map((row) => standing(row, context.now, context.owner));
  const head = request.rows[0] as ActionRow;
  item.icons = [];
  if (request.rows.length > 1) {
    item.marks = marks;
    item.kind = w.someAccepted(request.rows.filter((row) => row.state === "accepted").length, request.rows.length);
  } else {
    const mark = marks[0];
    if (mark) item.chip = { standing: mark, label: isHeld(head, context.tick) ? w.heldFor(secondsLeft(head, context.tick)) : mark.label };
  }
  const waits = request.rows.every((row) => row.state === "approved" && !isHeld(row, context.tick));
  const later = request.rows.find((row) => isScheduled(row, context.tick));
  // What has a time of its own waits for no destination.
  if (later?.next?.at) item.right = moment(later.next.at, context.now);
  item.group = !waits ? w.now : later ? w.scheduled : w.waitingDestination;
  return item;
}

export function unknownItem(request: Request, context: Context): ListItem {
  const item = common(request);
  const row = request.rows.find((r) => r.state === "unknown") ?? (request.rows[0] as ActionRow);
  const mark = standing(row, context.now, context.owner);
  item.icons = [];
  if (row.state === "unknown") {
    item.chip = { standing: mark, label: w.askedChip(row.asked) };
    item.right = row.next?.what === "person" ? w.untilYou : row.next?.what === "paused" ? w.waitingPaused : row.next?.at ? w.nextLook(clock(row.next.at)) : "";
    item.group = w.notKnownYet;
  } else {
    item.marks = [mark];
    item.kind = mark.label;
    item.group = w.earlier30;
  }
  return item;
}

export function reviewItem(request: Request, context: Context): ListItem {
  const item = common(request);
  const row = request.rows.find((r) => r.state !== "prepared") ?? (request.rows[0] as ActionRow);
  item.icons = [];
  item.kind = "";
  if (row.state === "needs_review") {
    const why = reviewReason(row);
    item.warn = { text: w.rowReason[why] ?? w.needsReview, note: false };
  } else {
    const mark = standing(row, context.now, context.owner);
    item.chip = { standing: mark, label: mark.label };
  }
  return item;
}
