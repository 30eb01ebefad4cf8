// The seal: a rosette drawn from the 32 bytes of a fingerprint (design reference, section 8). A memory aid only.

export type Core = "dot" | "ring" | "diamond";
export type Seal = { bands: string[]; core: Core };


function bytesOf(hash: string): number[] {
  const bytes: number[] = [];
  for (let i = 0; i < 32; i++) {
    const value = Number.parseInt(hash.slice(i * 2, i * 2 + 2), 16);
    bytes.push(Number.isNaN(value) ? 0 : value);
  }
  return bytes;
}

/** One closed strand as a smooth path: quadratic curves through the midpoints of sampled points. */
function strand(radius: number, amplitude: number, lobes: number, phase: number, centre = 24): string {
  const count = lobes * (centre === 24 ? 8 : 20);
  const points: [number, number][] = [];
  for (let i = 0; i < count; i++) {
    const t = (i / count) * Math.PI * 2;
    const r = radius + amplitude * Math.cos(lobes * t + phase);
    points.push([centre + r * Math.cos(t), centre + r * Math.sin(t)]);
  }
  const at = (i: number) => points[(i + count) % count] as [number, number];
  const middle = (i: number): [number, number] => [(at(i)[0] + at(i + 1)[0]) / 2, (at(i)[1] + at(i + 1)[1]) / 2];
  const start = middle(-1);
  let path = `M${start[0].toFixed(1)} ${start[1].toFixed(1)}`;
  for (let i = 0; i < count; i++) {
    const [cx, cy] = at(i);
    const [x, y] = middle(i);
    path += `Q${cx.toFixed(1)} ${cy.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)}`;
  }
  return path + "z";
}

function band(radius: number, amplitude: number, lobes: number, phase: number, strands: number): string {
  let path = "";
  for (let k = 0; k < strands; k++) path += strand(radius, amplitude, lobes, phase + (2 * Math.PI * k) / strands);
  return path;
}

/** The large rosette of the first page, in a 200 box around 0: decoration, drawn like a seal but of nothing. */
export function rosette(): { path: string; turns: number[] }[] {
  const of = (radius: number, amplitude: number, lobes: number, strands: number) => ({
    path: strand(radius, amplitude, lobes, 0, 0),
    turns: Array.from({ length: strands }, (_, k) => (k * 360) / lobes / strands),
  });
  return [of(84, 13, 18, 7), of(58, 10, 14, 6), of(36, 9, 10, 6)];
}

const known = new Map<string, Seal>();

export function sealOf(hash: string, size: number): Seal {
  const small = size <= 30;
  const name = `${small ? "s" : "l"}${hash}`;
  const before = known.get(name);
  if (before) return before;
  const b = bytesOf(hash);
  const at = (i: number) => b[i] as number;
  const core = (["dot", "ring", "diamond"] as const)[at(8) % 3] as Core;
  let bands: string[];
  if (small) {
    bands = [band(16.6, 4.2 + (2.2 * at(2)) / 255, 4 + (at(0) % 5), at(6) / 40, 2)];
  } else {
    const a1 = 2.6 + (2.2 * at(2)) / 255;
    const outer = 21.6 - a1;
    const a2 = 2.6 + (3.2 * at(3)) / 255;
    const inner = Math.max(5.2, outer - a1 - 2.2 - a2);
    bands = [
      band(outer, a1, 8 + (at(0) % 9), at(6) / 40, 2 + (at(4) % 2)),
      band(inner, a2, 4 + (at(1) % 6), at(7) / 40, 2 + (at(5) % 2)),
    ];
  }
  const seal = { bands, core };
  if (known.size > 400) known.clear();
  known.set(name, seal);
  return seal;
}

export function strokeOf(size: number): number {
  return size >= 56 ? 0.7 : size >= 34 ? 0.95 : 1.9;
}

/** `28F1 9EC8`: groups of four, in capitals. Copying always gives all 64 in lower case. */
export function digits(hash: string, count = 8): string {
  return (hash.slice(0, count).toUpperCase().match(/.{1,4}/g) ?? []).join(" ");
}
