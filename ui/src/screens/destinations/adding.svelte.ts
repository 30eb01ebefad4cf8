// What adding a destination has in common whatever its kind: the test that sends nothing, the last step, and what went
// wrong with which field.

import { tick } from "svelte";
import { errorOf } from "../../backend";
import type { DestinationForm } from "../../bindings/DestinationForm";
import type { ProbeStep } from "../../bindings/ProbeStep";
import { app } from "../../state/app.svelte";
import { Patient } from "../../state/patient.svelte";
import { w } from "../../words";

export class Adding {
  readonly #trial = new Patient();
  busy = $state(false);
  tested = $state(false);
  steps = $state.raw<ProbeStep[]>([]);
  problem = $state.raw<{ field: string; text: string } | null>(null);
  /** The hold of a new destination, in seconds: what the person set for all, as soon as that is read. */
  hold = $state(10);
  /** Why `hold` is only what the program brings along. */
  holdProblem = $state("");

  constructor(readonly kind: string) {}

  get good(): boolean {
    return this.tested && this.steps.length > 0 && this.steps.every((step) => step.state === "done");
  }
  get holds(): number[] {
    return [...new Set([0, 5, 10, 30, 60, 120, this.hold])].sort((a, b) => a - b);
  }

  async readHold(): Promise<void> {
    try {
      this.hold = (await app.engine.preferences()).undo_seconds;
    } catch (thrown) {
      this.holdProblem = w.holdNotRead(errorOf(thrown).message);
    }
  }

  form(name: string, values: Record<string, string>, secret: string): DestinationForm {
    return { name: name.trim(), kind: this.kind, environment: app.overview?.environment ?? "live", undo_seconds: this.hold, values, secret };
  }

  /** Tries it as typed. Resolves to whether every step was done. */
  async test(form: DestinationForm): Promise<boolean> {
    this.busy = true;
    this.tested = false;
    this.problem = null;
    this.steps = [];
    const stop = await app.engine.onProbe((step) => (this.steps = [...this.steps.filter((s) => s.step !== step.step), step]));
    try {
      const steps = await this.#trial.run(() => app.engine.probeDestination(form));
      if (!steps) {
        this.steps = [];
        return false;
      }
      this.steps = steps;
      this.tested = true;
      await tick();
      document.querySelector<HTMLElement>("dialog [data-do=finish]")?.focus();
    } catch (thrown) {
      this.#tell(thrown);
    } finally {
      stop();
      this.busy = false;
    }
    return this.good;
  }

  /** Whoever goes back does not wait for the test any more; it sends nothing, however far it comes. */
  stop(): void {
    this.#trial.stop();
  }

  async finish(form: DestinationForm, done: () => void): Promise<void> {
    if (this.busy || !this.good) return;
    this.busy = true;
    try {
      const row = await app.engine.addDestination(form);
      app.take(await app.engine.overview());
      app.say(row.name);
      done();
      app.go("destinations");
    } catch (thrown) {
      this.#tell(thrown);
    } finally {
      this.busy = false;
    }
  }

  #tell(thrown: unknown): void {
    const error = errorOf(thrown);
    if (error.code === "locked") app.unlocking = true;
    // The path of a field of the file is the table's name and the key.
    this.problem = { field: (error.field ?? "").split(".").at(-1)?.replace(/\[\d+\]$/, "") ?? "", text: error.message };
  }
}
