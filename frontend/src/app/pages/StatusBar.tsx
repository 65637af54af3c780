import { formatMs } from "../../domain/format";
import type { WorkspaceState } from "../workspace";

/** How the latest compile went, and how long its parts took. */
export function StatusBar({ state }: { state: WorkspaceState }) {
  const { result, fresh, roundTripMs } = state;
  return (
    <footer className="status-bar">
      <span className={`status-dot ${dotLook(state)}`} />
      <span data-testid="compile-state">{stateText(state)}</span>
      {result && fresh && (
        <span className="timings">
          <span>check {formatMs(result.timings.check_ms)}</span>
          <span>bind {formatMs(result.timings.bind_ms)}</span>
          <span>plan {formatMs(result.timings.plan_ms)}</span>
          {roundTripMs !== null && <span>round trip {formatMs(roundTripMs)}</span>}
        </span>
      )}
    </footer>
  );
}

function dotLook({ result, fault }: WorkspaceState): string {
  if (fault) return "bad";
  if (!result) return "";
  return result.diagnostics.some((diagnostic) => diagnostic.severity === "error") ? "warn" : "good";
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
