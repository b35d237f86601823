// A plugin for a dsh of any version: folds one log with all units that this dsh has, and writes down their views at
// the end of the log and at the end of each turn.
import { writeFileSync } from 'node:fs'

export const name = 'views-of-a-log'
export const inject = ['sessionPersistence', 'sessionProjections']
const { VIEWS_OF: id, VIEWS_TO: file } = process.env

// dsh 0.1.0 knows no handles; its units begin with nothing.
async function read(store) {
  if (typeof store.open !== 'function') return { events: [...(await store.readFrom(id, 0)).events], start: [] }
  const log = await store.open(id, 'read')
  try {
    const { events, inheritedEventCount } = await log.read(0)
    return { events: [...events], start: [log.header, inheritedEventCount ?? log.inheritedEventCount ?? 0] }
  } finally {
    await log.close()
  }
}

async function views(ctx) {
  await ctx.get('loader')?.await()
  const units = ctx.get('sessionProjections')
  const { events, start } = await read(ctx.get('sessionPersistence'))
  const through = count => units.restore({}, events.slice(0, count), 0, ...start).snapshot
  const ends = events.flatMap((event, at) => event.type === 'turn/end' ? [at + 1] : [])
  return { ...through(events.length), turns: ends.map(through) }
}

export function apply(ctx) {
  views(ctx)
    .catch(error => ({ error: String(error?.stack ?? error) }))
    .then(found => writeFileSync(file, JSON.stringify(found)))
    .finally(() => ctx.get('appExit')?.(0))
}
