import { openTemporarySqlite } from './temporary-sqlite.js';
import { describeSessionStore } from './session-store-suite.js';

describeSessionStore('the session log on SQLite', openTemporarySqlite);
