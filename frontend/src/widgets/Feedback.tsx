/** What a page shows instead of its contents: nothing yet, nothing at all, or what went wrong. */
import type { ReactNode } from "react";
import { Button } from "./Button";
import { InlineText } from "./DocText";
import { Icon, type IconName } from "./Icon";

interface EmptyStateProps {
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  icon?: IconName;
  /** It is all that the page has, so its title is the page's. */
  page?: boolean;
}

export function EmptyState({ title, children, actions, icon, page }: EmptyStateProps) {
  const Title = page ? "h1" : "h2";
  return (
    <div className="empty">
      {icon && (
        <span className="empty-icon">
          <Icon name={icon} size={20} />
        </span>
      )}
      <Title>{title}</Title>
      {children && <p>{children}</p>}
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
        <InlineText text={[error.message, error.hint].filter(Boolean).join(" ")} />
      </div>
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

const SHOWN_CAUTIONS = 3;

/** What should be read with care: the first lines, and the rest where somebody wants it. */
export function Cautions({ lines }: { lines: readonly string[] }) {
  if (lines.length === 0) return null;
  // One line more than fits costs no more room than the word that there is one.
  const shown = lines.length <= SHOWN_CAUTIONS + 1 ? lines : lines.slice(0, SHOWN_CAUTIONS);
  const rest = lines.slice(shown.length);
  return (
    <div className="notice warn" role="note">
      <Icon name="warning" />
      <div className="grow">
        <ul>
          {shown.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        {rest.length > 0 && (
          <details>
            <summary>{rest.length} more</summary>
            <ul>
              {rest.map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </div>
  );
}

interface PageFaultProps {
  error: Told & { status?: number };
  onRetry: () => void;
  /** Where to go on from here. */
  actions: ReactNode;
}

/** A page whose subject cannot be read: there is no such thing, or it can be asked for again. */
export function PageFault({ error, onRetry, actions }: PageFaultProps) {
  const missing = error.status === 404;
  return (
    <div role="alert">
      <EmptyState
        page
        icon={missing ? "search" : "error"}
        title={missing ? sentence(error.message) : "This could not be read"}
        actions={
          <>
            {actions}
            {!missing && <Button onClick={onRetry}>Try again</Button>}
          </>
        }
      >
        {missing ? (
          "The address names nothing that is stored here: it may have been deleted, or belong to another database."
        ) : (
          <InlineText text={[error.message, error.hint].filter(Boolean).join(" ")} />
        )}
      </EmptyState>
    </div>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Grey lines of the size of what will stand there. */
export function SkeletonLines({ lines, height = 16 }: { lines: number; height?: number }) {
  return (
    <div role="status" aria-label="Loading" className="skeleton-lines">
      {numbered(lines).map((line) => (
        <div key={line} className="skeleton" style={{ height, width: `${92 - ((line * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** Grey boxes in place of cards or of the rows of a table: as high, as wide and as far apart as what will stand there. */
export function SkeletonBoxes({ boxes, className }: { boxes: number; className: string }) {
  return (
    <div role="status" aria-label="Loading" className={className}>
      {numbered(boxes).map((box) => (
        <div key={box} className="skeleton skeleton-box" />
      ))}
    </div>
  );
}

function numbered(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
