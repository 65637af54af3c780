import { useLocation, useSearch } from "wouter";
import type { ThemeName } from "../../domain/palette";
import { parseIds } from "../../domain/runsQuery";
import { ComparePane } from "../../panes/compare/ComparePane";
import { saveFile } from "../saveFile";

/** Which runs are compared, and against which, stands in the address. */
export default function ComparePage({ theme }: { theme: ThemeName }) {
  const params = new URLSearchParams(useSearch());
  const [, navigate] = useLocation();
  const ids = parseIds(params.get("ids"));
  const asked = parseIds(params.get("baseline"))[0];
  const baseline = asked !== undefined && ids.includes(asked) ? asked : null;
  const go = (nextIds: readonly number[], nextBaseline: number | null) => {
    const search = `ids=${nextIds.join(",")}${nextBaseline === null ? "" : `&baseline=${nextBaseline}`}`;
    navigate(`/compare?${search}`, { replace: true });
  };
  return (
    <ComparePane
      ids={ids}
      baseline={baseline}
      theme={theme}
      onSave={saveFile}
      onBaseline={(id) => go(ids, id)}
      onRemove={(id) =>
        go(
          ids.filter((other) => other !== id),
          baseline === id ? null : baseline,
        )
      }
    />
  );
}
