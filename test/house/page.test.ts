import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const PAGE = new URL("../../packages/compact-context-cli/src/view/page/", import.meta.url);
const names = readdirSync(fileURLToPath(PAGE));
const textOf = (name: string): string => readFileSync(new URL(name, PAGE), "utf8");

describe("the page's source", () => {
  it("never makes markup or code of text, and asks for nothing elsewhere", () => {
    const forbidden =
      /innerHTML|dangerouslySetInnerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|setAttribute\("(?:style|on|href|src)|\bstyle: ["`]|javascript:|@import|url\(/;
    const elsewhere = /https?:\/\/(?!www\.w3\.org\/2000\/svg)/;
    const scripts = names.filter((name) => /\.(?:tsx?|css|html)$/.test(name));
    expect(scripts.length).toBeGreaterThan(15);
    for (const name of scripts) {
      expect(textOf(name).match(forbidden)?.[0], name).toBeUndefined();
      expect(textOf(name).match(elsewhere)?.[0], name).toBeUndefined();
    }
  });

  it("has no script and no style inside its HTML", () => {
    const html = textOf("index.html");
    expect(html).not.toMatch(/ style=| on[a-z]+=|<style/);
    expect(html.match(/<script[^>]*>[^<]*/g)).toEqual(['<script type="module" src="/page/page.js">']);
  });
});

type Rgb = readonly [number, number, number];

/** The colours by name, of one of the two themes. */
function colours(scheme: "light" | "dark"): Map<string, Rgb> {
  const [light = "", dark = ""] = textOf("base.css").split("@media");
  const found = new Map<string, Rgb>();
  for (const text of scheme === "light" ? [light] : [light, dark]) {
    for (const [, name = "", hex = ""] of text.matchAll(/--([\w-]+): #([0-9a-f]{6});/g)) {
      found.set(name, [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb);
    }
  }
  return found;
}

/** WCAG 2.2, relative luminance. */
function luminance(rgb: Rgb): number {
  const [red = 0, green = 0, blue = 0] = rgb.map((each) => {
    const share = each / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Rgb, other: Rgb): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

describe.each(["light", "dark"] as const)("colours, %s", (scheme) => {
  const all = colours(scheme);
  const of = (name: string): Rgb => all.get(name) ?? [0, 0, 0];
  const grounds = ["ground", "surface", "raised", "hover", "marked", "source"];

  it("text has a contrast of at least 4.5 on every ground that it stands on", () => {
    const faint: string[] = [];
    for (const ground of grounds) {
      for (const ink of ["ink", "ink-soft"]) {
        const found = contrast(of(ink), of(ground));
        if (found < 4.5) faint.push(`${ink} on ${ground}: ${found.toFixed(2)}`);
      }
    }
    const pairs = [
      ["accent", "surface"],
      ["accent", "marked"],
      ["accent-ink", "accent"],
      ["alert", "alert-ground"],
      ["alert", "surface"],
      ["good", "ground"],
    ] as const;
    for (const [ink, ground] of pairs) {
      const found = contrast(of(ink), of(ground));
      if (found < 4.5) faint.push(`${ink} on ${ground}: ${found.toFixed(2)}`);
    }
    expect(faint).toEqual([]);
  });

  it("what is drawn has a contrast of at least 3 to what it is drawn on", () => {
    const drawn = [...all.keys()].filter((name) => name.startsWith("layer-"));
    expect(drawn).toHaveLength(9);
    const faint = [...drawn, "accent", "line-strong"].flatMap((name) =>
      ["ground", "surface"].flatMap((ground) => {
        const found = contrast(of(name), of(ground));
        return found < 3 ? [`${name} on ${ground}: ${found.toFixed(2)}`] : [];
      }),
    );
    expect(faint).toEqual([]);
  });
});
