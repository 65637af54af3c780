import type { ReactNode } from "react";

interface ScrollAreaProps {
  label: string;
  className?: string;
  children: ReactNode;
}

/** A named area that scrolls by itself, by keyboard too. */
export function ScrollArea({ label, className, children }: ScrollAreaProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={className ? `scroll ${className}` : "scroll"} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
