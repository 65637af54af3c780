/** Line icons on a 16 x 16 grid, drawn for this project. */

const PATHS = {
  play: "M5 3.5v9l7.5-4.5z",
  link: "M6.5 9.5l3-3M7 4.6l1.2-1.2a2.8 2.8 0 0 1 4 4L11 8.6M9 11.4l-1.2 1.2a2.8 2.8 0 0 1-4-4L5 7.4",
  download: "M8 2.5v7.5M4.8 7.2L8 10.4l3.2-3.2M3 13.5h10",
  grid: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  history: "M2.8 8a5.2 5.2 0 1 0 1.7-3.9L2.8 5.6M2.8 2.6v3h3M8 5v3.2l2.2 1.4",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  keyboard: "M2 4.5h12v7H2zM4.5 7h.01M7 7h.01M9.5 7h.01M12 7h.01M5 9.3h6",
  close: "M4 4l8 8M12 4l-8 8",
  up: "M4 9.8l4-4 4 4",
  down: "M4 6.2l4 4 4-4",
  left: "M9.8 4l-4 4 4 4",
  right: "M6.2 4l4 4-4 4",
  check: "M3 8.5l3.3 3.3L13 5",
  warning: "M8 2.5L14 13H2zM8 6.5v3M8 11.2h.01",
  error: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.5M8 10.8h.01",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5V11M8 5.2h.01",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  trash: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.6 9h6.8l.6-9M6.7 7v4M9.3 7v4",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6L13 5.8M13 2.6v3.2H9.8",
  open: "M9 2.5h4.5V7M13.5 2.5L7.5 8.5M11.5 9.5v4h-9v-9h4",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5",
  stop: "M4.5 4.5h7v7h-7z",
  palette:
    "M8 2.5a5.5 5.5 0 1 0 0 11c1 0 1.4-.7 1.1-1.5-.4-1 .2-1.8 1.2-1.8h1.3c1.2 0 1.9-.9 1.9-2.2 0-3.1-2.4-5.5-5.5-5.5zM5.4 8h.01M6.9 5.4h.01M9.8 5.6h.01",
  compare: "M3 13V6M8 13V3M13 13V8.5",
  chip: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  save: "M2.5 2.5h8.5l2.5 2.5v8.5h-11zM5 2.5v3.5h5V2.5M4.5 13.5V9h7v4.5",
  swap: "M2.5 5.5h10M9.5 2.5l3 3-3 3M13.5 10.5h-10M6.5 7.5l-3 3 3 3",
  diff: "M5.5 2.5v6M2.5 5.5h6M2.5 12.5h6M13 3L8.5 13",
  pencil: "M3 13l.6-2.8 7.3-7.3 2.2 2.2-7.3 7.3z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16, className }: { name: IconName; size?: number; className?: string }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill={name === "play" || name === "stop" ? "currentColor" : "none"}
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={className}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
