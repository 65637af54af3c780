import { Fragment } from "react";
import { Dialog } from "../widgets/Dialog";

const GROUPS: { title: string; keys: [string[], string][] }[] = [
  {
    title: "Editor",
    keys: [
      [["Ctrl", "Enter"], "Compile now"],
      [["Ctrl", "Shift", "Enter"], "Run"],
      [["Ctrl", "Space"], "Complete"],
      [["Ctrl", "."], "Quick fixes of the line"],
      [["Shift", "Alt", "F"], "Format"],
      [["Ctrl", "S"], "Save"],
      [["F8"], "Next problem"],
      [["Ctrl", "F"], "Search"],
      [["Tab"], "Leave the editor"],
    ],
  },
  {
    title: "Mask (when it has the focus)",
    keys: [
      [["↑", "↓", "←", "→"], "Move the cell cursor"],
      [["Shift", "↓"], "Move it further"],
      [["Home", "End"], "First and last key of the row"],
      [["+", "−"], "Zoom"],
      [["0"], "Fit the whole mask"],
      [["Enter"], "Choose the cell, for its row, its run and its tile"],
      [["Esc"], "Choose none, remove the mark"],
    ],
  },
  {
    title: "Mouse on the mask",
    keys: [
      [["Scroll"], "Zoom at the pointer"],
      [["Shift", "Scroll"], "Move sideways"],
      [["Drag"], "Move"],
      [["Click"], "Choose the cell"],
      [["Double click"], "Zoom in"],
    ],
  },
  {
    title: "Anywhere",
    keys: [
      [["?"], "This sheet"],
      [["g", "e"], "Editor"],
      [["g", "m"], "Masks"],
      [["g", "r"], "Runs"],
      [["g", "c"], "Compare"],
      [["g", "v"], "Environment"],
    ],
  },
];

export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div className="shortcuts">
        {GROUPS.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl>
              {group.keys.map(([keys, does]) => (
                <Fragment key={does}>
                  <dt>
                    {keys.map((key) => (
                      <kbd className="kbd" key={key}>
                        {key}
                      </kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
