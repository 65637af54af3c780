/** The quick fixes of the line that the cursor is in, in a menu that the keyboard works on. */

import { type Action, forEachDiagnostic } from "@codemirror/lint";
import { type EditorState, type Extension, StateEffect, StateField } from "@codemirror/state";
import { type Command, EditorView, keymap, showTooltip, type Tooltip } from "@codemirror/view";

interface Offer {
  action: Action;
  from: number;
  to: number;
}

const setMenu = StateEffect.define<Tooltip | null>();

const menu = StateField.define<Tooltip | null>({
  create: () => null,
  update: (shown, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setMenu)) return effect.value;
    return transaction.docChanged || transaction.selection ? null : shown;
  },
  provide: (field) => showTooltip.from(field),
});

/** Fixes of messages that touch the line of the cursor, those at the cursor first. */
export function offersAt(state: EditorState): Offer[] {
  const { head } = state.selection.main;
  const line = state.doc.lineAt(head);
  const found: Offer[] = [];
  forEachDiagnostic(state, ({ actions }, from, to) => {
    if (from <= line.to && to >= line.from) for (const action of actions ?? []) found.push({ action, from, to });
  });
  const distance = ({ from, to }: Offer) => (head < from ? from - head : Math.max(0, head - to));
  return found.sort((a, b) => distance(a) - distance(b));
}

const openMenu: Command = (view) => {
  const offers = offersAt(view.state);
  const tooltip: Tooltip = {
    pos: offers[0]?.from ?? view.state.selection.main.head,
    above: false,
    create: () => ({ dom: menuElement(view, offers), mount: () => focusFirst(view) }),
  };
  view.dispatch({ effects: setMenu.of(tooltip) });
  return true;
};

function focusFirst(view: EditorView): void {
  view.dom.querySelector<HTMLElement>(".quick-fixes [role=menuitem]")?.focus();
}

function close(view: EditorView): void {
  view.dispatch({ effects: setMenu.of(null) });
  view.focus();
}

function menuElement(view: EditorView, offers: readonly Offer[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "quick-fixes";
  if (offers.length === 0) {
    box.textContent = "There is no quick fix for this line.";
    box.setAttribute("role", "status");
    return box;
  }
  box.setAttribute("role", "menu");
  box.setAttribute("aria-label", "Quick fixes");
  const items = offers.map(({ action, from, to }) => {
    const item = document.createElement("button");
    item.type = "button";
    item.textContent = action.name;
    item.setAttribute("role", "menuitem");
    item.addEventListener("click", () => {
      close(view);
      action.apply(view, from, to);
    });
    box.append(item);
    return item;
  });
  box.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key !== "Escape" && event.key !== "Tab" && step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = items.findIndex((item) => item.matches(":focus"));
    if (step === 0) close(view);
    else items[(at + step + items.length) % items.length]?.focus();
  });
  return box;
}

export const quickFixes: Extension = [
  menu,
  keymap.of([
    { key: "Mod-.", run: openMenu },
    {
      key: "Escape",
      run: (view) => {
        if (!view.state.field(menu)) return false;
        close(view);
        return true;
      },
    },
  ]),
  EditorView.theme({
    ".quick-fixes": { display: "grid", padding: "4px", fontFamily: "var(--font-ui)", fontSize: "12px" },
    ".quick-fixes[role=status]": { padding: "6px 10px", color: "var(--ink-soft)" },
    ".quick-fixes button": {
      padding: "5px 10px",
      border: "0",
      borderRadius: "4px",
      background: "transparent",
      color: "var(--ink)",
      textAlign: "left",
    },
    ".quick-fixes button:hover, .quick-fixes button:focus-visible": {
      backgroundColor: "var(--accent)",
      color: "var(--accent-ink)",
      outline: "none",
    },
  }),
];
