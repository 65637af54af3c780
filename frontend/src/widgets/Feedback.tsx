/** What a page shows instead of its contents: nothing yet, nothing at all, or what went wrong. */
import type { ReactNode } from "react";
import { Button } from "./Button";
import { Icon } from "./Icon";

export function EmptyState({ title, children, actions }: { title: string; children: ReactNode; actions?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {actions && <div className="actions">{actions}</div>}
    </div>
  );
}

interface Told {
  message: string;
  hint?: string | null;
}

export function ErrorNotice({ error, onRetry }: { error: Told; onRetry?: () => void }) {
  return (
    <div className="notice bad" role="alert">
      <Icon name="error" />
      <div className="grow">
        {error.message} {error.hint}
      </div>
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Grey lines of the size of what will stand there. */
export function SkeletonLines({ lines, height = 16 }: { lines: number; height?: number }) {
  return (
    <div role="status" aria-label="Loading" style={{ display: "grid", gap: 8 }}>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines have no identity
        <div key={line} className="skeleton" style={{ height, width: `${92 - ((line * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
