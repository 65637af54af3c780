import type { ReactNode } from "react";

interface ScrollAreaProps {
  label: string;
  className?: string;
  /** Whether what it shows is about to be replaced. */
  busy?: boolean;
  children: ReactNode;
}

/** A named area that scrolls by itself, by keyboard too. */
export function ScrollArea({ label, className, busy, children }: ScrollAreaProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={className ? `scroll ${className}` : "scroll"} aria-label={label} aria-busy={busy} tabIndex={0}>
      {children}
    </section>
  );
}
