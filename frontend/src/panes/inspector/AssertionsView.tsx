import type { Assertion, CounterExample, Span } from "../../api/types";
import { InlineText } from "../../widgets/DocText";
import { Icon } from "../../widgets/Icon";

interface AssertionsViewProps {
  assertions: readonly Assertion[];
  onPoint: (place: CounterExample) => void;
  onGoTo: (span: Span) => void;
}

/** What the text asserts: what holds, and of what does not the cell that shows it. */
export function AssertionsView({ assertions, onPoint, onGoTo }: AssertionsViewProps) {
  const holding = assertions.filter((assertion) => assertion.holds).length;
  return (
    <section className="assertions" aria-labelledby="assertions-title">
      <h3 id="assertions-title">
        Assertions{" "}
        <small>
          {holding} of {assertions.length} hold
        </small>
      </h3>
      <ul className="problems">
        {assertions.map((assertion) => (
          <li key={assertion.span.start} className={assertion.holds ? "holds" : "error"}>
            <AssertionRow assertion={assertion} onPoint={onPoint} onGoTo={onGoTo} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface AssertionRowProps extends Omit<AssertionsViewProps, "assertions"> {
  assertion: Assertion;
}

function AssertionRow({ assertion, onPoint, onGoTo }: AssertionRowProps) {
  const { holds, text, message, line, span, counter_example: place } = assertion;
  return (
    <>
      <button type="button" className="problem" onClick={() => (place ? onPoint(place) : onGoTo(span))}>
        <Icon name={holds ? "check" : "error"} />
        <span>
          {message === null ? (
            <code>{text}</code>
          ) : (
            <b>
              <InlineText text={message} />
            </b>
          )}
          <span className="place">{holds ? `holds · line ${line}` : `line ${line}`}</span>
        </span>
      </button>
      {place && (
        <div className="fixes">
          <button type="button" className="chip" onClick={() => onPoint(place)}>
            Show {placeText(place)}
          </button>
          <button type="button" className="chip" onClick={() => onGoTo(span)}>
            Go to line {line}
          </button>
        </div>
      )}
    </>
  );
}

function placeText({ q, k }: CounterExample): string {
  const parts = [q === null ? null : `query ${q}`, k === null ? null : `key ${k}`];
  return parts.filter((part) => part !== null).join(", ");
}
