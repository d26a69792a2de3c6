// The figure of an offline page: an SVG with real text and a shape for each cell.
import { css, hatch } from './color';
import { colorsOf, entryOf, paint } from './color_scale';
import { clipped, digits, shown } from './format';
import { faint } from './paint';
import { mode, muted, mutedNames, part, place, run, scale, theme } from './state';
import { drawn, isRenormalised, mutedColumns } from './view';

export const escaped = (text: string) =>
  text
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');

const modeCaptions = { weights: '', scores: 'scores before the softmax, ', values: 'length of weight · v,' };
export function figureSvg(): string {
  const d = drawn.value!,
    info = run.value!,
    p = paint.value,
    colors = colorsOf(p),
    grey = mutedColumns.value,
    light = theme.value === 'light';
  const cell = Math.max(4, Math.min(24, 640 / d.columns)),
    left = 110,
    top = 110,
    width = left + d.columns * cell + 70,
    height = top + d.rows * cell + 70;
  const inkColor = light ? '#1c1f26' : '#ebedf1',
    quiet = light ? '#606670' : '#9ca2ad',
    page = light ? '#ffffff' : '#101217';
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<title>${escaped(info.model.name)} ${part.value} layer ${place.value.layer}, head ${place.value.head}</title>`,
    `<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" stroke="${hatch[theme.value]}"/></pattern></defs>`,
    `<rect width="100%" height="100%" fill="${page}"/><text x="12" y="20" fill="${inkColor}" font-size="13" font-weight="bold">${part.value} layer ${place.value.layer}, head ${place.value.head}</text>`,
  ];
  d.columnNames.forEach((name, j) => {
    const x = left + (j + 0.5) * cell;
    out.push(
      `<text x="${x}" y="${top - 6}" fill="${inkColor}" transform="rotate(-45 ${x} ${top - 6})">${escaped(clipped(shown(name), 16))}</text>`,
    );
  });
  for (let i = 0; i < d.rows; ++i) {
    const y = top + i * cell;
    out.push(
      `<text x="${left - 6}" y="${y + cell / 2 + 4}" fill="${inkColor}" text-anchor="end">${escaped(clipped(shown(d.rowNames[i]), 16))}</text>`,
    );
    for (let j = 0; j < d.columns; ++j) {
      const w = d.values[i * d.columns + j];
      const fill = Number.isNaN(w) ? 'url(#hatch)' : css(colors, entryOf(p, w));
      const opacity = grey[j] && !Number.isNaN(w) ? ` fill-opacity="${faint}"` : '';
      out.push(
        `<rect x="${left + j * cell}" y="${y}" width="${cell - 0.5}" height="${cell - 0.5}" fill="${fill}"${opacity}/>`,
      );
    }
  }
  const mutes =
    muted.value === 'none'
      ? ''
      : `; ${mutedNames[muted.value]} muted${isRenormalised.value ? ', the rest renormalised (derived)' : ''}`;
  out.push(
    `<text x="12" y="${height - 34}" fill="${quiet}">rows: query (from), columns: key (to); ${modeCaptions[mode.value]}${p.signed ? '' : ` scale ${scale.value},`} ${p.signed ? `±` : '0 to '}${digits(p.limit, 3)}${mutes}</text>`,
    `<text x="12" y="${height - 16}" fill="${quiet}">“${escaped(clipped(info.text, 100))}” Model ${escaped(info.model.name)}.</text></svg>`,
  );
  return out.join('\n');
}
