/** The program being edited: its text, the values given for it, and what the server said about them. */

import type { BlockSize, CompileRequest, CompileResult, Mask, Parameter, Program, Value, Values } from "../api/types";
import type { Draft } from "../domain/drafts";
import { keepKnown, sameValues } from "../domain/values";

/** A text, its numbers, and which mask of the batch that they may give. */
export interface MaskOrigin extends Draft {
  item: number;
  head: number;
}

export interface WorkspaceState {
  /** False until there is a text to show. */
  ready: boolean;
  source: string;
  /** Values that the user, an example or a link gave; some may be of parameters that the text has no more. */
  given: Values;
  /** Null: as large as the server finds right for the mask. */
  blockM: BlockSize | null;
  blockN: BlockSize | null;
  /** Which mask of a batch is shown; of a batch with fewer, the server shows the last one. */
  item: number;
  head: number;
  /** The numbers that the server bound last, for the parameters that there are. */
  bound: Values;
  /** The latest answer. It may be of an older text than `source`: then `fresh` is false. */
  result: CompileResult | null;
  fresh: boolean;
  /** The latest program whose head could be read. */
  program: Program | null;
  /** The latest mask that could be drawn. */
  mask: Mask | null;
  /** What gave this mask. */
  maskOf: MaskOrigin | null;
  /** Why the latest call got no answer. */
  fault: Error | null;
  /** Milliseconds from sending to having the answer. */
  roundTripMs: number | null;
}

type Compile = (request: CompileRequest, signal: AbortSignal) => Promise<CompileResult>;

/** A text is compiled when the typing pauses; a number can be compiled almost at once, since it is never half a word. */
const TEXT_PAUSE_MS = 150;
const VALUE_PAUSE_MS = 40;

const INITIAL: WorkspaceState = {
  ready: false,
  source: "",
  given: {},
  blockM: null,
  blockN: null,
  item: 0,
  head: 0,
  bound: {},
  result: null,
  fresh: false,
  program: null,
  mask: null,
  maskOf: null,
  fault: null,
  roundTripMs: null,
};

/** Compiles a moment after each change; of several answers only the one to the latest change counts. */
export class Workspace {
  readonly #compile: Compile;
  readonly #listeners = new Set<() => void>();
  #state = INITIAL;
  /** Parameters of this text, once its head could be read: other values are not sent. */
  #parameters: readonly Parameter[] | null = null;
  #revision = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | null = null;

  constructor(compile: Compile) {
    this.#compile = compile;
  }

  readonly getState = (): WorkspaceState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Replaces text and values. Of another batch the first mask is shown, except at the start, when an address may name one. */
  open(draft: Draft): void {
    if (this.#state.ready) this.#set({ item: 0, head: 0 });
    this.#set({ ready: true, source: draft.source, given: draft.values, fresh: false });
    this.#parameters = null;
    this.#schedule(0);
  }

  edit(source: string): void {
    if (source === this.#state.source) return;
    this.#set({ source, fresh: false });
    this.#schedule(TEXT_PAUSE_MS);
  }

  setValue(name: string, value: Value): void {
    this.#set({ given: { ...this.#state.given, [name]: value }, fresh: false });
    this.#schedule(VALUE_PAUSE_MS);
  }

  setValues(values: Values): void {
    this.#set({ given: { ...this.#state.given, ...values }, fresh: false });
    this.#schedule(0);
  }

  setBlocks(blockM: BlockSize | null, blockN: BlockSize | null): void {
    if (blockM === this.#state.blockM && blockN === this.#state.blockN) return;
    this.#set({ blockM, blockN, fresh: false });
    if (this.#state.ready) this.#schedule(0);
  }

  /** Shows another mask of a batch. */
  setPlace(item: number, head: number): void {
    if (item === this.#state.item && head === this.#state.head) return;
    this.#set({ item, head, fresh: false });
    if (this.#state.ready) this.#schedule(0);
  }

  compileNow(): void {
    if (this.#state.ready) this.#schedule(0);
  }

  /** What the form shows: given values at once, the others as they were bound. */
  shownValues(): Values {
    return { ...this.#state.bound, ...this.#sendable() };
  }

  /** Text and values as they should be kept, linked, exported and run. */
  draft(): Draft {
    return { source: this.#state.source, values: this.#sendable() };
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#running?.abort();
  }

  #sendable(): Values {
    const { given } = this.#state;
    return this.#parameters ? keepKnown(given, this.#parameters) : given;
  }

  #schedule(delay: number): void {
    this.#revision += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#send(), delay);
  }

  async #send(): Promise<void> {
    const revision = this.#revision;
    this.#running?.abort();
    const controller = new AbortController();
    this.#running = controller;
    const { source, blockM, blockN, item, head } = this.#state;
    const values = this.#sendable();
    const start = performance.now();
    try {
      const result = await this.#compile(
        { source, values, revision, block_m: blockM, block_n: blockN, item, head },
        controller.signal,
      );
      if (revision !== this.#revision) return;
      this.#accept(result, { source, values }, performance.now() - start);
    } catch (error) {
      if (controller.signal.aborted || revision !== this.#revision) return;
      this.#set({ fault: error instanceof Error ? error : new Error(String(error)) });
    }
  }

  #accept(result: CompileResult, sent: Draft, roundTripMs: number): void {
    const program = result.program ?? (this.#parameters ? this.#state.program : null);
    this.#parameters = program?.parameters ?? null;
    const bound = keepKnown({ ...this.#state.bound, ...result.values }, program?.parameters ?? []);
    this.#set({ result, program, bound, fresh: true, fault: null, roundTripMs });
    const { item, head } = result.batch ?? { item: 0, head: 0 };
    if (result.mask) {
      const maskOf = { source: sent.source, values: result.values, item, head };
      this.#set({ mask: result.mask, maskOf });
    }
    // Parameters came or went with this text: the values sent were chosen for another one.
    if (!sameValues(this.#sendable(), sent.values)) this.#schedule(0);
  }

  #set(change: Partial<WorkspaceState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
