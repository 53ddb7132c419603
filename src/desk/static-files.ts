import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chartScript } from './charts/chart-script.js';
import { script } from './script.js';
import { css } from './style.js';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** @param text what the file says, asked for once */
function staticFile(type: 'css' | 'javascript', text: () => string): Handler {
  let known: string | undefined;
  return async (_request, reply) => {
    known ??= text();
    return reply.header('cache-control', 'public, max-age=300').type(`text/${type}; charset=utf-8`).send(known);
  };
}

const ofPlots = (name: string) => readFileSync(createRequire(import.meta.url).resolve(`uplot/dist/${name}`), 'utf8');

export const sendStyle = staticFile('css', () => css);
export const sendScript = staticFile('javascript', () => script);
export const sendChartScript = staticFile('javascript', () => chartScript);
export const sendPlotScript = staticFile('javascript', () => ofPlots('uPlot.iife.min.js'));
export const sendPlotStyle = staticFile('css', () => ofPlots('uPlot.min.css'));
