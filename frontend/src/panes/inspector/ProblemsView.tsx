import type { Diagnostic, Fix, Span } from "../../api/types";
import { InlineText } from "../../widgets/DocText";
import { Icon } from "../../widgets/Icon";

interface ProblemsViewProps {
  diagnostics: readonly Diagnostic[];
  checked: boolean;
  onGoTo: (span: Span) => void;
  onFix: (fix: Fix) => void;
}

/** Errors and warnings; each leads to its place in the text. */
export function ProblemsView({ diagnostics, checked, onGoTo, onFix }: ProblemsViewProps) {
  if (diagnostics.length === 0) {
    return (
      <p className="no-problems">
        {checked && <Icon name="check" />}
        {checked ? "No problems." : "Not checked yet."}
      </p>
    );
  }
  return (
    <ul className="problems">
      {diagnostics.map((diagnostic) => (
        <li key={`${diagnostic.code} ${diagnostic.span.start} ${diagnostic.message}`} className={diagnostic.severity}>
          <button type="button" className="problem" onClick={() => onGoTo(diagnostic.span)}>
            <Icon name={diagnostic.severity === "error" ? "error" : "warning"} />
            <span>
              <b>
                <InlineText text={diagnostic.message} />
              </b>
              {diagnostic.hint && (
                <span className="hint">
                  <InlineText text={diagnostic.hint} />
                </span>
              )}
              <span className="place">
                {diagnostic.code} · line {diagnostic.line}, column {diagnostic.column}
              </span>
            </span>
          </button>
          {diagnostic.fixes.length > 0 && (
            <div className="fixes">
              {diagnostic.fixes.map((fix) => (
                <button key={fix.title} type="button" className="chip" onClick={() => onFix(fix)}>
                  <InlineText text={fix.title} />
                </button>
              ))}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}
