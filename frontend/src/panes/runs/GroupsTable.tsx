import { Link } from "wouter";
import type { RunGroupField, RunGroups } from "../../api/types";
import { formatAge, formatInt, formatMs } from "../../domain/format";
import { groupFilter, type RunsQuery } from "../../domain/runsQuery";

const GROUP_TITLES: Record<RunGroupField, string> = {
  mask_name: "Mask",
  provider: "Provider",
  dtype: "dtype",
  direction: "Direction",
  device: "Device",
  verdict: "Verdict",
  head_dim: "head_dim",
  launch_id: "Launch",
};

interface GroupsTableProps {
  groups: RunGroups;
  /** Shows the runs of one group. */
  onOpen: (filter: Partial<RunsQuery>) => void;
}

/** Runs that agree in a field, a line for each value. */
export function GroupsTable({ groups, onOpen }: GroupsTableProps) {
  return (
    <table className="runs-table groups-table">
      <thead>
        <tr>
          <th scope="col">{GROUP_TITLES[groups.by]}</th>
          <th scope="col" className="numeric-column">
            Runs
          </th>
          <th scope="col" className="numeric-column">
            Passed
          </th>
          <th scope="col" className="numeric-column">
            Wrong or failed
          </th>
          <th scope="col" className="numeric-column">
            Fastest
          </th>
          <th scope="col" className="numeric-column">
            Latest
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.groups.map((group) => {
          const filter = groupFilter(groups.by, group.value);
          return (
            <tr key={group.value ?? ""} data-group={group.value ?? ""}>
              <td>
                {filter ? (
                  <button type="button" className="link-button" onClick={() => onOpen(filter)}>
                    {group.label}
                  </button>
                ) : (
                  <span className="muted">{group.label}</span>
                )}
              </td>
              <td className="numeric-column" data-label="Runs">
                {formatInt(group.count)}
              </td>
              <td className="numeric-column" data-label="Passed">
                {formatInt(group.passed)}
              </td>
              <td className="numeric-column" data-label="Wrong or failed">
                {group.failed > 0 ? <span className="change slower">{formatInt(group.failed)}</span> : "–"}
              </td>
              <td className="numeric-column" data-label="Fastest">
                {group.fastest_ms !== null && group.fastest_id !== null ? (
                  <Link href={`/runs/${group.fastest_id}`}>{formatMs(group.fastest_ms)}</Link>
                ) : (
                  "–"
                )}
              </td>
              <td className="numeric-column" data-label="Latest">
                {formatAge(group.latest_at, Date.now())}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
