import { useLocation } from "wouter";
import { LaunchPane } from "../../panes/launch/LaunchPane";
import { QueuePane } from "../../panes/launch/QueuePane";

/** The queue, or one launch of it. */
export default function LaunchesPage({ id }: { id: number | null }) {
  const [, navigate] = useLocation();
  if (id === null) return <QueuePane />;
  return <LaunchPane key={id} id={id} onStarted={(started) => navigate(`/launches/${started}`)} />;
}
