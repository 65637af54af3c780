/** Local storage that may be full or forbidden; then things are only not remembered. */

import type { Store } from "./draftBook";

function storeOf(open: () => Storage): Store {
  return {
    read: (key) => {
      try {
        return open().getItem(key);
      } catch {
        return null;
      }
    },
    write: (key, value) => {
      try {
        open().setItem(key, value);
        return true;
      } catch {
        return false;
      }
    },
    remove: (key) => {
      try {
        open().removeItem(key);
      } catch {
        // Nothing was stored there, then.
      }
    },
  };
}

/** What all windows of this browser share. */
export const sharedStore = storeOf(() => localStorage);
/** What this window alone remembers, over a reload too. */
export const ownStore = storeOf(() => sessionStorage);

export const readItem = sharedStore.read;
export const writeItem = sharedStore.write;
export const removeItem = sharedStore.remove;
