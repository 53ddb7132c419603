import type { DataSource } from 'typeorm';
import type { StoreSettings } from '../config/sections/store.js';
import { mysql } from './mysql/mysql-store.js';
import { postgres } from './postgres/postgres-store.js';
import { sqlite } from './sqlite/sqlite-store.js';
import type { StoreDialect } from './store-dialect.js';

const dialects: readonly StoreDialect[] = [sqlite, mysql, postgres];

export function dialectOf({ type }: Pick<StoreSettings, 'type'>): StoreDialect {
  return found(dialects.find(({ name }) => name === type));
}

export function dialectOfSource({ options }: DataSource): StoreDialect {
  return found(dialects.find(({ driver }) => driver === options.type));
}

function found(dialect: StoreDialect | undefined): StoreDialect {
  if (dialect === undefined) throw new Error('No dialect knows this database.');
  return dialect;
}
