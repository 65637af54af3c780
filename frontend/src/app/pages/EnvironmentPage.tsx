import { EnvironmentPane } from "../../panes/environment/EnvironmentPane";

export default function EnvironmentPage() {
  return <EnvironmentPane />;
}
