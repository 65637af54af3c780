import type { LaunchSummary } from "../../api/types";
import { Icon } from "../../widgets/Icon";

/** Where a launch stands, in a word. */
export function LaunchState({ launch }: { launch: Pick<LaunchSummary, "state" | "position" | "counts"> }) {
  const { failed } = launch.counts;
  switch (launch.state) {
    case "queued":
      return (
        <span className="badge">
          <Icon name="clock" size={12} />
          {launch.position ? `place ${launch.position} in the queue` : "queued"}
        </span>
      );
    case "running":
      return (
        <span className="badge live">
          <Icon name="refresh" size={12} className="spin" />
          running
        </span>
      );
    case "done":
      return failed > 0 ? (
        <span className="badge warn">
          <Icon name="warning" size={12} />
          done, {failed} wrong or failed
        </span>
      ) : (
        <span className="badge good">
          <Icon name="check" size={12} />
          done
        </span>
      );
    case "failed":
    case "lost":
      return (
        <span className="badge bad">
          <Icon name="error" size={12} />
          {launch.state}
        </span>
      );
    case "cancelled":
      return (
        <span className="badge">
          <Icon name="stop" size={12} />
          cancelled
        </span>
      );
  }
}
