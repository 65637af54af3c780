import { Menu } from "../../widgets/Menu";
import { columns } from "./columns";
import { columnTitle } from "./columnTitle";

interface ColumnsMenuProps {
  hidden: readonly string[];
  onHidden: (hidden: string[]) => void;
}

/** Which columns the table has. */
export function ColumnsMenu({ hidden, onHidden }: ColumnsMenuProps) {
  return (
    <Menu label="Columns">
      <fieldset>
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
    </Menu>
  );
}
