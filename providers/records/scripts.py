"""Names and notes in the scripts of the world, all of them invented and in NFC.

Every name has a character beyond ASCII, so that each can be garbled. No text has a quotation mark or a brace: texts
stand in quotation marks in a goal, and braces are its places.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from providers.records.draws import Draws


class Script(NamedTuple):
    """How people are called, and how notes are written, in one script.

    Attributes:
        name: of the script.
        family, given: parts of names.
        family_first: a full name is the family name and then, without a space, the given one.
        phrases: parts of notes.
        joint: what stands between two phrases.
    """

    name: str
    family: tuple[str, ...]
    given: tuple[str, ...]
    phrases: tuple[str, ...]
    family_first: bool = False
    joint: str = "; "


_LATIN: Final = Script(
    "latin",
    ("Tälvik", "Brandão", "Łucki", "Ñuñez", "Håkonsen", "Čermák", "Şahin", "Öztürk", "Lefèvre", "Nguyễn"),
    ("Zoë", "Amélie", "Øyvind", "Inés", "Jürgen", "Siân", "Małgorzata", "Đorđe", "Kätlin", "Åsa"),
    (
        "alert and oriented",
        "pâle, mais sans fièvre",
        "Schmerzen beim Gehen, später besser",
        "no known allergies",
        "volverá mañana por la tarde",
        "żadnych nowych objawów",
        "blood pressure taken twice",
        "uyku düzeni değişmedi",
    ),
)
_GREEK: Final = Script(
    "greek",
    ("Παπαδάκης", "Βλαχάκη", "Ξενάκη", "Μαρίνος", "Δελής", "Καζάνη", "Ζερβός", "Φωτιάδη"),
    ("Ελένη", "Γιώργος", "Χρυσή", "Νίκος", "Δάφνη", "Στέλιος", "Άννα", "Θάνος"),
    (
        "ήρεμος και προσανατολισμένος",
        "χωρίς πυρετό από χθες",
        "ήπιος πόνος στο γόνατο",
        "δεν αναφέρει αλλεργίες",
        "κοιμάται όλη τη νύχτα",
        "θα ξανάρθει σε δέκα ημέρες",
    ),
)
_CYRILLIC: Final = Script(
    "cyrillic",
    ("Волкова", "Йорданов", "Ђурић", "Ковальчук", "Щербак", "Лисенко", "Петров", "Ёлкина"),
    ("Мария", "Олексій", "Жанна", "Стоян", "Їванна", "Фёдор", "Љубица", "Зоя"),
    (
        "сознание ясное, ориентируется",
        "температура нормальная",
        "боль слабая, при ходьбе",
        "аллергии не известны",
        "сон без изменений",
        "придёт снова через десять дней",
    ),
)
_ARABIC: Final = Script(
    "arabic",
    ("الحدّاد", "النجّار", "بن يوسف", "الخطيب", "شاهين", "العطّار", "قاسم", "درويش"),
    ("ليلى", "يوسف", "مريم", "سامي", "نور", "طارق", "هدى", "كريم"),
    (
        "المريض واعٍ ومتجاوب",
        "لا حمّى منذ يومين",
        "ألم خفيف عند المشي",
        "لا حساسية معروفة",
        "الشهية كما كانت",
        "يعود بعد عشرة أيام",
    ),
    joint="؛ ",
)
_HEBREW: Final = Script(
    "hebrew",
    ("לוין", "מזרחי", "ברקוביץ", "אבוטבול", "שגב", "פרידמן", "כהנא", "צור"),
    ("נועה", "יונתן", "שירה", "איתן", "תמר", "עומר", "הדס", "אורי"),
    (
        "ער ומתמצא בסביבתו",
        "ללא חום מאתמול",
        "כאב קל בהליכה",
        "אין אלרגיות ידועות",
        "ישנה היטב בלילה",
        "יחזור בעוד עשרה ימים",
    ),
)
_HAN: Final = Script(
    "han",
    ("王", "欧阳", "陳", "林", "黃", "赵", "周", "𠮷田"),
    ("小梅", "志明", "雅婷", "建国", "美玲", "子轩", "文静", "浩然"),
    (
        "神志清楚,定向力正常",
        "昨日起无发热",
        "行走時輕微疼痛",
        "无已知过敏",
        "夜间睡眠良好",
        "食慾沒有變化",
        "十天后复诊",
    ),
    family_first=True,
    joint="。",
)
_HANGUL: Final = Script(
    "hangul",
    ("김", "이", "박", "최", "정", "남궁", "황보", "윤"),
    ("서연", "민준", "지우", "하은", "도윤", "예린", "준호", "수빈"),
    (
        "의식이 명료하고 지남력 있음",
        "어제부터 열이 없음",
        "걸을 때 가벼운 통증",
        "알려진 알레르기 없음",
        "밤에 잘 자고 있음",
        "열흘 뒤에 다시 오기로 함",
    ),
    family_first=True,
)
_DEVANAGARI: Final = Script(
    "devanagari",
    ("शर्मा", "कुलकर्णी", "त्रिपाठी", "श्रीवास्तव", "मिश्रा", "देशपांडे", "चौधरी", "जोशी"),
    ("आशा", "विक्रम", "मीनाक्षी", "ऋषि", "लक्ष्मी", "अर्जुन", "सुनीता", "कृष्ण"),
    (
        "सचेत और सजग है",
        "कल से बुखार नहीं",
        "चलने पर हल्का दर्द",
        "कोई ज्ञात एलर्जी नहीं",
        "रात भर अच्छी नींद",
        "दस दिन बाद फिर आएँगे",
    ),
    joint=" । ",
)

NAME_SCRIPTS: Final = (_LATIN, _GREEK, _CYRILLIC, _ARABIC, _HEBREW, _HAN, _HANGUL, _DEVANAGARI)

_EMOJI: Final = Script(
    "emoji",
    (),
    (),
    (
        "pain four of ten 🙂",
        "heart ❤️ regular",
        "came with her family 👩‍👩‍👧",
        "fever gone 🌡️✅",
        "walks without help 🚶🏽‍♀️",
        "flag on the form 🇺🇳",
        "tooth 🦷 seen",
    ),
)

NOTE_SCRIPTS: Final = (*NAME_SCRIPTS, _EMOJI)


def person(draws: Draws, script: Script) -> str:
    """A full name."""
    family, given = draws.pick(script.family), draws.pick(script.given)
    return family + given if script.family_first else f"{given} {family}"


def prose(draws: Draws, script: Script, chars_min: int) -> str:
    """Phrases in any order, at least so many characters of them."""
    text = ""
    while len(text) < chars_min:
        text += script.joint.join(draws.shuffled(script.phrases)) + script.joint
    return text.rstrip()
