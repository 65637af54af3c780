import type { ComponentProps } from "react";
import { Icon, type IconName } from "./Icon";

interface ButtonProps extends ComponentProps<"button"> {
  icon?: IconName;
  look?: "plain" | "primary" | "quiet";
  small?: boolean;
  danger?: boolean;
  busy?: boolean;
}

/** A button with an optional icon. Without children its `aria-label` is its name and its tooltip. */
export function Button({ icon, look = "plain", small, danger, busy, className, children, ...rest }: ButtonProps) {
  const classes = ["button", look, small && "small", danger && "danger", !children && "icon-only", className];
  return (
    <button
      type="button"
      title={children ? undefined : rest["aria-label"]}
      {...rest}
      className={classes.filter(Boolean).join(" ")}
      aria-busy={busy || undefined}
      disabled={rest.disabled || busy}
    >
      {busy ? <Icon name="refresh" size={14} className="spin" /> : icon && <Icon name={icon} size={14} />}
      {children && <span className="text">{children}</span>}
    </button>
  );
}
