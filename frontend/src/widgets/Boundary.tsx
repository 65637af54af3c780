import { Component, type ReactNode } from "react";
import { Button } from "./Button";
import { EmptyState } from "./Feedback";

interface BoundaryProps {
  /** What is shown: with another one the page is drawn again. */
  of: string;
  children: ReactNode;
}

interface BoundaryState {
  fault: Error | null;
  of: string;
}

/** A page that cannot be drawn says so in its own place, and the way to the others stays open. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { fault: null, of: this.props.of };

  static getDerivedStateFromError(fault: Error): Partial<BoundaryState> {
    return { fault };
  }

  static getDerivedStateFromProps({ of }: BoundaryProps, state: BoundaryState): Partial<BoundaryState> | null {
    return of === state.of ? null : { fault: null, of };
  }

  override render(): ReactNode {
    const { fault } = this.state;
    if (fault === null) return this.props.children;
    return (
      <div className="page" role="alert">
        <EmptyState
          page
          icon="error"
          title="This page could not be drawn"
          actions={
            <>
              <Button look="primary" icon="refresh" onClick={() => window.location.reload()}>
                Load it again
              </Button>
              <Button onClick={() => this.setState({ fault: null })}>Try again</Button>
            </>
          }
        >
          This is a fault of the studio: {fault.message}. Drafts and stored runs are safe. Where the studio was updated
          while this page was open, loading it again helps.
        </EmptyState>
      </div>
    );
  }
}
