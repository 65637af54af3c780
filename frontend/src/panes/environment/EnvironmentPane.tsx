import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { readEnvironment, refreshEnvironment } from "../../api/calls";
import type { Device, Environment, Provider } from "../../api/types";
import { formatBytes } from "../../domain/format";
import { Button } from "../../widgets/Button";
import { EmptyState, ErrorNotice, SkeletonLines } from "../../widgets/Feedback";
import { Icon } from "../../widgets/Icon";
import { ScrollArea } from "../../widgets/ScrollArea";
import { Version } from "../../widgets/Version";

const PROBING_MS = 1000;

/** What this machine has, and what can be run on it. */
export function EnvironmentPane() {
  const queries = useQueryClient();
  const environment = useQuery({
    queryKey: ["environment"],
    queryFn: ({ signal }) => readEnvironment(signal),
    refetchInterval: (query) => (query.state.data?.state === "probing" ? PROBING_MS : false),
  });
  const refresh = useMutation({
    mutationFn: refreshEnvironment,
    onSuccess: (answer) => queries.setQueryData(["environment"], answer),
  });
  const probing = environment.data?.state === "probing";
  return (
    <div className="page">
      <div className="page-head">
        <h1>Environment</h1>
        <span className="grow" />
        <Button icon="refresh" busy={refresh.isPending || probing} onClick={() => refresh.mutate()}>
          Probe again
        </Button>
      </div>
      {environment.isError && <ErrorNotice error={environment.error} onRetry={() => environment.refetch()} />}
      {refresh.isError && <ErrorNotice error={refresh.error} />}
      {environment.isPending && <SkeletonLines lines={10} height={22} />}
      {environment.data && <EnvironmentBody environment={environment.data} />}
    </div>
  );
}

function EnvironmentBody({ environment }: { environment: Environment }) {
  const { state, reason, providers, devices, versions } = environment;
  if (state === "failed") return <ErrorNotice error={{ message: reason ?? "This machine could not be probed." }} />;
  if (state === "probing" && providers.length === 0) {
    return (
      <>
        <p className="muted" role="status">
          A process of its own is finding out what this machine can run. This takes a few seconds.
        </p>
        <SkeletonLines lines={8} height={22} />
      </>
    );
  }
  return (
    <div className="environment">
      <div className="run-column">
        <section className="card">
          <h2>Devices</h2>
          <ul className="devices">
            {devices.map((device) => (
              <DeviceRow key={device.name} device={device} />
            ))}
          </ul>
          {devices.length === 0 && <EmptyState title="No device">The probe found none.</EmptyState>}
        </section>
        <section className="card">
          <h2>Providers</h2>
          <ProviderTable providers={providers} />
        </section>
      </div>
      <section className="card">
        <h2>Versions</h2>
        <dl className="facts">
          {versionsOf(versions, devices).map(([name, version]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Version name={name} text={version} />
              </dd>
            </div>
          ))}
        </dl>
      </section>
    </div>
  );
}

/** The device is named in its own card. */
function versionsOf(versions: Environment["versions"], devices: readonly Device[]): [string, string][] {
  return Object.entries(versions).filter(
    ([name, text]) => !(name === "device" && devices.some((device) => device.name === text)),
  );
}

function DeviceRow({ device }: { device: Device }) {
  return (
    <li>
      <Icon name="chip" size={20} />
      <span>
        <b>{device.name}</b>
        <small>
          {[
            device.kind === "cuda" ? "GPU" : "CPU",
            device.memory_bytes === null ? null : formatBytes(device.memory_bytes),
            device.detail,
          ]
            .filter(Boolean)
            .join(" · ")}
        </small>
      </span>
    </li>
  );
}

function ProviderTable({ providers }: { providers: readonly Provider[] }) {
  return (
    <ScrollArea label="Providers">
      <table className="provider-table">
        <thead>
          <tr>
            <th scope="col">Provider</th>
            <th scope="col">Here</th>
            <th scope="col" className="hide-small">
              Kind
            </th>
          </tr>
        </thead>
        <tbody>
          {providers.map((provider) => (
            <tr key={provider.name}>
              <td>
                <code>{provider.name}</code>
                <small>{provider.title}</small>
              </td>
              <td>
                {provider.usable ? (
                  <span className="badge good">
                    <Icon name="check" size={12} />
                    usable
                  </span>
                ) : (
                  <span className="muted">{provider.reason}</span>
                )}
              </td>
              <td className="hide-small">{provider.kind === "impl" ? "implementation" : "peer, for comparison"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}
