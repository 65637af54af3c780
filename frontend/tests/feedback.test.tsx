import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Boundary } from "../src/widgets/Boundary";
import { Cautions, ErrorNotice, PageFault } from "../src/widgets/Feedback";

afterEach(cleanup);

function Page({ broken }: { broken: boolean }) {
  if (broken) throw new Error("no such field");
  return <p>the page</p>;
}

describe("a page that cannot be drawn", () => {
  it("says so, and is drawn again at another address or when asked to", () => {
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    const { rerender } = render(
      <Boundary of="/runs">
        <Page broken />
      </Boundary>,
    );
    expect(screen.getByRole("alert").textContent).toMatch(/could not be drawn.*no such field/);
    rerender(
      <Boundary of="/masks">
        <Page broken={false} />
      </Boundary>,
    );
    expect(screen.getByText("the page")).toBeTruthy();
    rerender(
      <Boundary of="/masks">
        <Page broken />
      </Boundary>,
    );
    rerender(
      <Boundary of="/masks">
        <Page broken={false} />
      </Boundary>,
    );
    expect(screen.queryByText("the page")).toBeNull();
    fireEvent.click(screen.getByText("Try again"));
    expect(screen.getByText("the page")).toBeTruthy();
    said.mockRestore();
  });
});

describe("what cannot be read", () => {
  it("is not asked for again when there is no such thing", () => {
    const error = { message: "there is no run 7", status: 404 };
    render(<PageFault error={error} onRetry={() => {}} actions={<a href="/runs">All runs</a>} />);
    expect(screen.getByRole("heading", { level: 1 }).textContent).toBe("There is no run 7");
    expect(screen.queryByText("Try again")).toBeNull();
  });

  it("can be asked for again otherwise, and sets code as code", () => {
    const onRetry = vi.fn();
    const error = { message: "No answer.", hint: "Start `compilemask studio`.", status: 0 };
    render(<PageFault error={error} onRetry={onRetry} actions={null} />);
    fireEvent.click(screen.getByText("Try again"));
    expect(onRetry).toHaveBeenCalledOnce();
    render(<ErrorNotice error={error} />);
    expect(screen.getAllByText("compilemask studio").every(({ tagName }) => tagName === "CODE")).toBe(true);
  });
});

describe("cautions", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);

  it("stand in full as long as folding saves nothing", () => {
    const { container } = render(<Cautions lines={lines(4)} />);
    expect(container.querySelector("details")).toBeNull();
    expect(screen.getAllByRole("listitem")).toHaveLength(4);
  });

  it("fold behind their number when they are many, and are nothing when there are none", () => {
    const { container, rerender } = render(<Cautions lines={lines(24)} />);
    expect(container.querySelectorAll(".grow > ul > li")).toHaveLength(3);
    expect(container.querySelector("summary")?.textContent).toBe("21 more");
    expect(container.querySelectorAll("details li")).toHaveLength(21);
    rerender(<Cautions lines={[]} />);
    expect(container.textContent).toBe("");
  });
});
