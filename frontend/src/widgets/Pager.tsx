import { formatInt } from "../domain/format";
import { Button } from "./Button";

interface PagerProps {
  what: string;
  total: number;
  offset: number;
  shown: number;
  page: number;
  size: number;
  onPage: (page: number) => void;
}

/** Pages of a long list; nothing for a short one. */
export function Pager({ what, total, offset, shown, page, size, onPage }: PagerProps) {
  const pages = Math.max(1, Math.ceil(total / size));
  if (pages === 1) return null;
  return (
    <div className="pager">
      <Button
        small
        look="quiet"
        icon="left"
        aria-label={`Previous ${what}`}
        disabled={page === 0}
        onClick={() => onPage(page - 1)}
      />
      <span>
        {formatInt(offset + 1)}–{formatInt(offset + shown)} of {formatInt(total)}
      </span>
      <Button
        small
        look="quiet"
        icon="right"
        aria-label={`Next ${what}`}
        disabled={page + 1 >= pages}
        onClick={() => onPage(page + 1)}
      />
    </div>
  );
}
