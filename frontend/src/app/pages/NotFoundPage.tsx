import { Link } from "wouter";
import { EmptyState } from "../../widgets/Feedback";

export function NotFoundPage() {
  return (
    <div className="page">
      <EmptyState
        page
        icon="search"
        title="There is no such page"
        actions={
          <Link href="/" className="button primary">
            Open the editor
          </Link>
        }
      >
        The address names nothing that the studio has.
      </EmptyState>
    </div>
  );
}
