import { type ReactNode, useId, useState } from "react";
import { Icon, type IconName } from "./Icon";

interface MenuProps {
  label: string;
  icon?: IconName;
  /** Only the icon shows; the label is its name and its tooltip. */
  iconOnly?: boolean;
  small?: boolean;
  children: ReactNode;
}

/** A button that opens a panel under it; Escape and a click elsewhere close it, as the browser does for popovers. */
export function Menu({ label, icon, iconOnly, small, children }: MenuProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const classes = ["button", "quiet", small && "small", iconOnly && "icon-only"].filter(Boolean).join(" ");
  return (
    <div className="menu">
      <button
        type="button"
        className={classes}
        popoverTarget={id}
        aria-label={iconOnly ? label : undefined}
        title={iconOnly ? label : undefined}
      >
        {icon && <Icon name={icon} size={14} />}
        {!iconOnly && <span className="text">{label}</span>}
        {!iconOnly && <Icon name="down" size={12} />}
      </button>
      <div
        id={id}
        popover="auto"
        className="menu-panel"
        onBeforeToggle={(event) => event.newState === "open" && setOpen(true)}
        // Not before it is closed: from what is gone the browser cannot bring the focus back to the button.
        onToggle={(event) => event.newState === "closed" && setOpen(false)}
      >
        {open && children}
      </div>
    </div>
  );
}
