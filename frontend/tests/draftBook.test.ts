import { describe, expect, it } from "vitest";
import { join } from "../src/app/begin";
import { DraftBook, type Store } from "../src/app/draftBook";
import { Workspace } from "../src/app/workspace";
import type { Draft } from "../src/domain/drafts";

function memory(): Store & { full: boolean; keys: () => string[] } {
  const held = new Map<string, string>();
  return {
    full: false,
    keys: () => [...held.keys()],
    read: (key) => held.get(key) ?? null,
    write(key, value) {
      if (this.full) return false;
      held.set(key, value);
      return true;
    },
    remove: (key) => void held.delete(key),
  };
}

const draft = (source: string, values = {}): Draft => ({ source, values });
const texts = (book: DraftBook) => book.getState().tabs.map((tab) => tab.source);

describe("the drafts in tabs", () => {
  it("never lose what was typed when something else is opened", () => {
    const book = new DraftBook(memory(), memory());
    const first = book.open(draft("preset"));
    book.open(draft("other preset"));
    expect(texts(book)).toEqual(["other preset"]);
    const active = book.activeDraft;
    book.update(active?.id ?? "", draft("other preset, changed"));
    book.open(draft("a link"));
    expect(texts(book)).toEqual(["other preset, changed", "a link"]);
    expect(book.getState().tabs.some((tab) => tab.id === first.id)).toBe(false);
  });

  it("show a text that is open already in its tab", () => {
    const book = new DraftBook(memory(), memory());
    const one = book.begin(draft("mine"));
    book.begin(draft("yours"));
    book.open(draft("mine"));
    expect(book.getState().active).toBe(one.id);
    expect(texts(book)).toEqual(["mine", "yours"]);
  });

  it("are as they were after a crash, in order and with the active one", () => {
    const [shared, own] = [memory(), memory()];
    const book = new DraftBook(shared, own);
    const one = book.begin(draft("one"));
    book.begin(draft("two"));
    book.update(one.id, draft("one, changed", { n: 3 }));
    book.activate(one.id);
    const again = new DraftBook(shared, own);
    expect(again.getState()).toEqual(book.getState());
    expect(again.activeDraft).toMatchObject({ source: "one, changed", values: { n: 3 } });
  });

  it("are the same in two windows, each with its own active one", () => {
    const shared = memory();
    const [left, right] = [new DraftBook(shared, memory()), new DraftBook(shared, memory())];
    const mine = left.begin(draft("left"));
    right.begin(draft("right"));
    left.follow("compilemask.tabs");
    right.follow("compilemask.tabs");
    expect(texts(left)).toEqual(texts(right));
    expect(texts(left).sort()).toEqual(["left", "right"]);
    left.update(mine.id, draft("left, changed"));
    right.follow(`compilemask.draft.${mine.id}`);
    expect(texts(right)).toContain("left, changed");
    expect(right.activeDraft?.source).toBe("right");
    left.close(mine.id);
    right.follow("compilemask.tabs");
    expect(texts(right)).toEqual(["right"]);
  });

  it("go into the history when they are closed, and the last leaves an empty one", () => {
    const book = new DraftBook(memory(), memory());
    const only = book.begin(draft("mask a()"));
    book.close(only.id);
    expect(texts(book)).toEqual([""]);
    expect(book.getState().history.map((entry) => [entry.name, entry.source])).toEqual([["a", "mask a()"]]);
    book.forget(book.getState().history[0]?.id ?? "");
    expect(book.getState().history).toEqual([]);
  });

  it("leave nothing behind in the storage when they are replaced or closed", () => {
    const shared = memory();
    const book = new DraftBook(shared, memory());
    for (const text of ["one", "two", "three"]) book.open(draft(text));
    book.close(book.begin(draft("four")).id);
    expect(shared.keys().filter((key) => key.startsWith("compilemask.draft."))).toHaveLength(1);
  });

  it("say when the browser does not keep them", () => {
    const shared = memory();
    const book = new DraftBook(shared, memory());
    const tab = book.begin(draft("one"));
    shared.full = true;
    book.update(tab.id, draft("two"));
    expect(book.getState().kept).toBe(false);
    expect(book.activeDraft?.source).toBe("two");
    shared.full = false;
    book.update(tab.id, draft("three"));
    expect(book.getState().kept).toBe(true);
  });

  it("take over the one draft of a page without tabs", () => {
    const shared = memory();
    shared.write("compilemask.draft", JSON.stringify(draft("old", { n: 1 })));
    expect(texts(new DraftBook(shared, memory()))).toEqual(["old"]);
    expect(texts(new DraftBook(shared, memory()))).toEqual(["old"]);
  });

  it("know the version that they were saved as", () => {
    const book = new DraftBook(memory(), memory());
    const tab = book.begin(draft("mine"));
    const saved = { id: 4, version: 2, name: "my mask" };
    book.markSaved(tab.id, draft("mine"), saved);
    expect(book.open(draft("mine"), saved).id).toBe(tab.id);
    expect(book.open(draft("mine"), { ...saved, version: 3 }).id).not.toBe(tab.id);
  });
});

describe("the text that is shown and the tab that keeps it", () => {
  const joined = () => {
    const book = new DraftBook(memory(), memory());
    const workspace = new Workspace(() => new Promise(() => {}));
    join(workspace, book);
    return { book, workspace };
  };

  it("stay one when most of a text is deleted at once, and the history has what it was", () => {
    const { book, workspace } = joined();
    const long = `mask m(n: int)\n${"# a remark\n".repeat(20)}`;
    book.open(draft(long));
    for (const text of ["", long, "mask m(n: int)\n"]) {
      workspace.edit(text);
      expect(workspace.getState().source).toBe(text);
      expect(book.activeDraft?.source).toBe(text);
    }
    expect(book.getState().history.map((entry) => entry.source)).toEqual([long]);
  });

  it("stay one when the text of another tab is shown", () => {
    const { book, workspace } = joined();
    const first = book.open(draft("mask first()", { n: 1 }));
    workspace.edit("mask first() # changed");
    book.open(draft("mask second()"));
    expect(workspace.getState().source).toBe("mask second()");
    book.activate(first.id);
    expect(workspace.getState()).toMatchObject({ source: "mask first() # changed", given: { n: 1 } });
    expect(texts(book)).toEqual(["mask first() # changed", "mask second()"]);
  });
});
