import { useEffect, useRef, useState } from "react";
import { Button } from "../../widgets/Button";
import { columns } from "./columns";
import { columnTitle } from "./columnTitle";

interface ColumnsMenuProps {
  hidden: readonly string[];
  onHidden: (hidden: string[]) => void;
}

/** Which columns the table has. */
export function ColumnsMenu({ hidden, onHidden }: ColumnsMenuProps) {
  const [open, setOpen] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const close = (event: Event) => {
      const outside = event instanceof KeyboardEvent ? event.key === "Escape" : true;
      const within = !(event instanceof KeyboardEvent) && holder.current?.contains(event.target as Node);
      if (outside && !within) setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, [open]);
  return (
    <div className="columns-menu" ref={holder}>
      <Button look="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
        Columns
      </Button>
      {open && (
        <fieldset className="menu-panel">
          <legend className="visually-hidden">Columns</legend>
          {columns.map((column) => {
            const id = String("accessorKey" in column ? column.accessorKey : column.id);
            return (
              <label key={id}>
                <input
                  type="checkbox"
                  checked={!hidden.includes(id)}
                  onChange={(event) =>
                    onHidden(event.target.checked ? hidden.filter((other) => other !== id) : [...hidden, id])
                  }
                />
                {columnTitle(column)}
              </label>
            );
          })}
        </fieldset>
      )}
    </div>
  );
}
