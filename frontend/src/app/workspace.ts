/** The program being edited: its text, the values given for it, and what the server said about them. */

import type { MaskTile } from "../api/tileBundle";
import type {
  BlockSize,
  CompileRequest,
  CompileResult,
  Mask,
  Parameter,
  Program,
  TilePlace,
  Value,
  Values,
} from "../api/types";
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
  /** Which of the drafts in tabs this is. */
  draftId: string | null;
  /** Whether an address brought this text, rather than somebody's choice on the page. */
  byAddress: boolean;
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
  /** Tiles of this mask that came with it. */
  tiles: readonly MaskTile[];
  /** What gave this mask. */
  maskOf: MaskOrigin | null;
  /** Why the latest call got no answer. */
  fault: Error | null;
  /** Milliseconds from sending to having the answer. */
  roundTripMs: number | null;
}

export interface Compiled {
  result: CompileResult;
  tiles: readonly MaskTile[];
}

type Compile = (request: CompileRequest, signal: AbortSignal) => Promise<Compiled>;

/** How long a newer text waits for the answer to an older one, before both are under way. */
const PATIENCE_MS = 250;
/** Errors of a text are told when the typing pauses this long: half a word is no mistake. */
const PAUSE_MS = 400;

const INITIAL: WorkspaceState = {
  ready: false,
  draftId: null,
  byAddress: false,
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
  tiles: [],
  maskOf: null,
  fault: null,
  roundTripMs: null,
};

interface Answer extends Compiled {
  sent: Draft;
  roundTripMs: number;
}

/**
 * Compiles each change at once; while one is under way, the changes after it are sent together. Of several answers
 * only the one to the latest change counts.
 */
export class Workspace {
  readonly #compile: Compile;
  readonly #listeners = new Set<() => void>();
  #state = INITIAL;
  /** Parameters of this text, once its head could be read: other values are not sent. */
  #parameters: readonly Parameter[] | null = null;
  #revision = 0;
  #sentRevision = 0;
  #sentAt = 0;
  #typedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | null = null;
  #wantedTiles: () => TilePlace[] = () => [];

  constructor(compile: Compile) {
    this.#compile = compile;
  }

  readonly getState = (): WorkspaceState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The picture that is shown says which tiles the next one will need, so that they come with it; null: there is no picture. */
  setWantedTiles(wanted: (() => TilePlace[]) | null): void {
    this.#wantedTiles = wanted ?? (() => []);
  }

  /** Replaces text and values. Of another batch the first mask is shown, except at the start, when an address may name one. */
  open(draft: Draft, draftId: string | null = null): void {
    const first = this.#state.ready ? { item: 0, head: 0 } : {};
    this.#parameters = null;
    const { source, values: given } = draft;
    this.#sendThenTell({ ...first, ready: true, draftId, byAddress: false, source, given, fresh: false }, false);
  }

  /** An address named the text that is shown now. */
  cameByAddress(): void {
    this.#set({ byAddress: true });
  }

  edit(source: string): void {
    if (source === this.#state.source) return;
    this.#sendThenTell({ source, fresh: false }, true);
  }

  setValue(name: string, value: Value): void {
    this.#sendThenTell({ given: { ...this.#state.given, [name]: value }, fresh: false }, false);
  }

  setValues(values: Values): void {
    this.#set({ given: { ...this.#state.given, ...values }, fresh: false });
    this.#changed();
  }

  setBlocks(blockM: BlockSize | null, blockN: BlockSize | null): void {
    if (blockM === this.#state.blockM && blockN === this.#state.blockN) return;
    this.#set({ blockM, blockN, fresh: false });
    if (this.#state.ready) this.#changed();
  }

  /** Shows another mask of a batch. */
  setPlace(item: number, head: number): void {
    if (item === this.#state.item && head === this.#state.head) return;
    this.#set({ item, head, fresh: false });
    if (this.#state.ready) this.#changed();
  }

  /** Compiles again, and tells errors without waiting for a pause. */
  compileNow(): void {
    if (!this.#state.ready) return;
    // The question is asked already.
    if (this.#running && this.#sentRevision === this.#revision) this.#typedAt = Number.NEGATIVE_INFINITY;
    else this.#changed();
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

  /** A change by hand: the server works on it while the page draws it. */
  #sendThenTell(change: Partial<WorkspaceState>, typed: boolean): void {
    this.#state = { ...this.#state, ...change };
    this.#changed(typed);
    if (!this.#running) {
      clearTimeout(this.#timer);
      void this.#send();
    }
    this.#tell();
  }

  #changed(typed = false): void {
    this.#revision += 1;
    this.#typedAt = typed ? performance.now() : Number.NEGATIVE_INFINITY;
    const waited = performance.now() - this.#sentAt;
    this.#after(this.#running ? Math.max(0, PATIENCE_MS - waited) : 0, () => void this.#send());
  }

  /** One thing is planned at a time, and a later plan replaces an earlier one. */
  #after(ms: number, action: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(action, ms);
  }

  async #send(): Promise<void> {
    const revision = this.#revision;
    this.#running?.abort();
    const controller = new AbortController();
    this.#running = controller;
    this.#sentRevision = revision;
    const { source, blockM, blockN, item, head } = this.#state;
    const values = this.#sendable();
    const start = performance.now();
    this.#sentAt = start;
    try {
      const compiled = await this.#compile(
        { source, values, revision, block_m: blockM, block_n: blockN, item, head, tiles: this.#wantedTiles() },
        controller.signal,
      );
      this.#ended(controller);
      if (revision === this.#revision)
        this.#receive({ ...compiled, sent: { source, values }, roundTripMs: performance.now() - start });
    } catch (error) {
      this.#ended(controller);
      if (controller.signal.aborted || revision !== this.#revision) return;
      this.#set({ fault: error instanceof Error ? error : new Error(String(error)) });
    }
  }

  /** What was changed meanwhile is sent as soon as the answer is there. */
  #ended(controller: AbortController): void {
    if (this.#running !== controller) return;
    this.#running = null;
    if (this.#sentRevision !== this.#revision) this.#after(0, () => void this.#send());
  }

  /** A picture is shown at once, errors when the typing has paused. */
  #receive(answer: Answer): void {
    const failed = answer.result.diagnostics.some(({ severity }) => severity === "error");
    const wait = failed ? this.#typedAt + PAUSE_MS - performance.now() : 0;
    if (wait > 0) this.#after(wait, () => this.#accept(answer));
    else this.#accept(answer);
  }

  #accept({ result, tiles, sent, roundTripMs }: Answer): void {
    const program = result.program ?? (this.#parameters ? this.#state.program : null);
    this.#parameters = program?.parameters ?? null;
    const bound = keepKnown({ ...this.#state.bound, ...result.values }, program?.parameters ?? []);
    const { item, head } = result.batch ?? { item: 0, head: 0 };
    const drawn = result.mask
      ? { mask: result.mask, tiles, maskOf: { source: sent.source, values: result.values, item, head } }
      : {};
    this.#set({ result, program, bound, fresh: true, fault: null, roundTripMs, ...drawn });
    // Parameters came or went with this text: the values sent were chosen for another one.
    if (!sameValues(this.#sendable(), sent.values)) this.#changed();
  }

  #set(change: Partial<WorkspaceState>): void {
    this.#state = { ...this.#state, ...change };
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
