/** Stacked bars, a day each. Everything in it is also in the table below it. */
import type { Measure, Plot } from "../state/plot";
import { OTHERS, ticks } from "../state/plot";
import { firstLine } from "../state/text";
import { useSize } from "../ui/hooks";

const HEIGHT = 220;
const LEFT = 56;
const BOTTOM = 24;
const TOP = 8;

interface Properties {
  plot: Plot;
  measure: Measure;
  spell: (value: number) => string;
}

export function DayPlot({ plot, measure, spell }: Properties) {
  const [frame, { width }] = useSize<HTMLDivElement>();
  const room = Math.max(0, width - LEFT - 8);
  const step = plot.days.length ? room / plot.days.length : 0;
  const bar = Math.max(1, Math.min(48, step * 0.78));
  const scale = (value: number) => (plot.most ? (value / plot.most) * (HEIGHT - TOP - BOTTOM) : 0);
  const every = Math.max(1, Math.ceil(plot.days.length / Math.max(1, Math.floor(room / 72))));
  return (
    <figure className="plot">
      <div ref={frame} className="plot-frame">
        {width > 0 && (
          <svg width={width} height={HEIGHT} role="img" aria-label={`${measure} by day, ${plot.days.length} days, at most ${spell(plot.most)} on one`}>
            {ticks(plot.most).map((value) => (
              <g key={value} transform={`translate(0 ${HEIGHT - BOTTOM - scale(value)})`}>
                <line x1={LEFT} x2={width} className="grid" />
                <text x={LEFT - 8} dy="0.32em" textAnchor="end">
                  {spell(value)}
                </text>
              </g>
            ))}
            {plot.days.map(({ day, parts, total }, at) => (
              <g key={day} transform={`translate(${LEFT + at * step + (step - bar) / 2} 0)`}>
                <title>{`${day}: ${spell(total)}\n${parts.map((part) => `${firstLine(part.name, 60)} ${spell(part.value)}`).join("\n")}`}</title>
                {parts.map((part) => (
                  <rect key={part.name} className={seriesOf(plot, part.name)} width={bar} y={HEIGHT - BOTTOM - scale(part.from + part.value)} height={Math.max(0.5, scale(part.value))} />
                ))}
                {at % every === 0 && (
                  <text x={bar / 2} y={HEIGHT - 6} textAnchor="middle">
                    {day.slice(5)}
                  </text>
                )}
              </g>
            ))}
          </svg>
        )}
      </div>
      <figcaption>
        {plot.names.map((name) => (
          <span key={name}>
            <svg width="12" height="12" aria-hidden="true">
              <rect width="12" height="12" rx="2" className={seriesOf(plot, name)} />
            </svg>{" "}
            {firstLine(name, 40)}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const seriesOf = (plot: Plot, name: string): string => (name === OTHERS ? "series others" : `series s${plot.names.indexOf(name) + 1}`);
