import { formatMs } from "../../domain/format";
import type { WorkspaceState } from "../workspace";

/** How the latest compile went, and how long its parts took. */
export function StatusBar({ state, kept }: { state: WorkspaceState; kept: boolean }) {
  const { result, fresh, roundTripMs } = state;
  return (
    <footer className="status-bar">
      <span className={`status-dot ${dotLook(state)}`} />
      <span data-testid="compile-state">{stateText(state)}</span>
      {!kept && (
        <span className="not-kept" role="alert">
          This browser keeps no drafts (its storage is full or forbidden): save the mask, or copy its link.
        </span>
      )}
      {result && fresh && (
        <span className="timings">
          <span>check {formatMs(result.timings.check_ms)}</span>
          {/* A text that cannot be checked is not bound, and what is not bound is not planned. */}
          {result.program && <span>bind {formatMs(result.timings.bind_ms)}</span>}
          {result.mask && <span>plan {formatMs(result.timings.plan_ms)}</span>}
          {roundTripMs !== null && <span>round trip {formatMs(roundTripMs)}</span>}
        </span>
      )}
    </footer>
  );
}

function dotLook({ result, fault }: WorkspaceState): string {
  if (fault) return "bad";
  if (!result) return "";
  return result.diagnostics.some((diagnostic) => diagnostic.severity === "error") ? "bad" : "good";
}

function stateText({ result, fresh, fault, ready }: WorkspaceState): string {
  if (fault) return fault.message;
  if (!ready) return "Loading";
  if (!result || !fresh) return "Compiling";
  const errors = result.diagnostics.filter((diagnostic) => diagnostic.severity === "error").length;
  const warnings = result.diagnostics.length - errors;
  if (errors > 0) return errors === 1 ? "1 error" : `${errors} errors`;
  if (warnings > 0) return warnings === 1 ? "Compiled, 1 warning" : `Compiled, ${warnings} warnings`;
  return "Compiled";
}
