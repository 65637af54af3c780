import { beforeEach, expect, it } from "vitest";
import { join, openAddress } from "../src/app/begin";
import { DraftBook } from "../src/app/draftBook";
import { ownStore, sharedStore } from "../src/app/storage";
import { Workspace } from "../src/app/workspace";
import { encodeFragment } from "../src/domain/shareLink";

const LINKED = { source: "mask linked(n: int)\ntokens { S: n }\nS sees S", values: { n: 4 } };
const OTHER = { source: "mask other(n: int)\ntokens { S: n }\nS sees S causal", values: {} };

/** A window as it is after it was loaded: what it shows comes from the stores and the address. */
function load() {
  const workspace = new Workspace(() => new Promise(() => undefined));
  const book = new DraftBook(sharedStore, ownStore);
  join(workspace, book);
  return { workspace, book };
}

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
  history.replaceState(null, "", "/");
});

it("opens a link once: a reload before the address is written anew keeps the tab that was chosen since", async () => {
  history.replaceState(null, "", `/${await encodeFragment(LINKED)}`);
  const first = load();
  expect(await openAddress(first.workspace, first.book)).toBe(true);
  first.book.begin(OTHER);
  const again = load();
  expect(await openAddress(again.workspace, again.book)).toBe(false);
  expect(again.book.activeDraft?.source).toBe(OTHER.source);
});

it("opens the same link in another window, and another link in the same one", async () => {
  history.replaceState(null, "", `/${await encodeFragment(LINKED)}`);
  const first = load();
  await openAddress(first.workspace, first.book);
  sessionStorage.clear();
  const other = load();
  other.book.begin(null);
  expect(await openAddress(other.workspace, other.book)).toBe(true);
  expect(other.workspace.getState().source).toBe(LINKED.source);
  history.replaceState(null, "", `/${await encodeFragment(OTHER)}`);
  expect(await openAddress(other.workspace, other.book)).toBe(true);
  expect(other.workspace.getState().source).toBe(OTHER.source);
});
